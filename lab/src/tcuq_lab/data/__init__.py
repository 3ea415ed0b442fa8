"""Datasets of the lab, behind one small interface; they lie in the folder that TCUQ_DATA names."""

from .dataset import Dataset, data_folder, load, names, present, splits

__all__ = ["Dataset", "data_folder", "load", "names", "present", "splits"]
