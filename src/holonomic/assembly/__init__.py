"""Models as tables: kinds of elements, tables of them, and the program that eliminates."""
