"""The pictures of the documentation, each made by a program; `python tools/pictures/make.py` makes all."""
