"""What stands where in the words that members of a sweep share where their model is tables; `table_words` writes them."""

from __future__ import annotations

# words of a context: coordinates, velocities, its rows, position rows of the model, columns, entries of its factors, rows that
# repeat others (-1: not known); address of the ends of elements at lumps, and how many; of two words for each pivot, place of its
# column and address of what is below it; of the model's number of each row, and of each column; of the places in data of the
# metric of each column; places of its factors in what is shared, and of the gains of a stabilization in data; then places in room,
# and, of factors that are written out, places in these: rows, W⁻¹ behind the rows, L
HEAD = (
    "N_Q", "N_V", "N_ROWS", "N_POSITION", "N_COLUMNS", "N_ENTRIES", "REDUNDANT", "TOUCHES", "N_TOUCHES", "POINTS", "ROW_ORDER",
    "COLUMN_ORDER", "METRIC", "FACTORS", "GAINS", "AT_F", "AT_A", "AT_B", "AT_G", "AT_LAM", "AT_R", "AT_DIAGONAL", "AT_LINE",
    "AT_O", "AT_W", "AT_L",
)  # fmt: skip
(
    N_Q, N_V, N_ROWS, N_POSITION, N_COLUMNS, N_ENTRIES, REDUNDANT, TOUCHES, N_TOUCHES, POINTS, ROW_ORDER, COLUMN_ORDER, METRIC,
    FACTORS, GAINS, AT_F, AT_A, AT_B, AT_G, AT_LAM, AT_R, AT_DIAGONAL, AT_LINE, AT_O, AT_W, AT_L,
) = range(len(HEAD))  # fmt: skip
# words of a kind in it: elements; address of the places of their arguments in x, of what they have for numbers, of the first
# columns of their ends, of their first rows; where they write; places of their given and of their settled numbers in room
COUNT, PLACES, NUMBERS, ENDS, FIRST, WRITES, GIVEN, SETTLED = range(8)
PART = 8
TOUCH, OTHER = 7, 3  # words of an element's end at a lump, and of each before it
NONE = -1  # place of a number that is 1
