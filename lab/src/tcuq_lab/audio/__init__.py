"""Sound for a keyword spotter: its front end, and continuous sound with words in it."""

from .continuous import Windows, windows
from .mfcc import FrontEnd, mfcc
from .tape import SoundPlan, Stretch, Word, voiced

__all__ = ["FrontEnd", "SoundPlan", "Stretch", "Windows", "Word", "mfcc", "voiced", "windows"]
