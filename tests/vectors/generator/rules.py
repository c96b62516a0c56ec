"""The rules of What the Shell, on a plain list of 81 characters."""

DIRECTIONS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))  # N to NW: row, column


def index(name):
    """The index of a cell's name, 0 to 80."""
    return "ABCDEFGHI".index(name[0]) + 9 * (int(name[1]) - 1)


def step(cell, direction, distance):
    row, column = cell // 9 + distance * direction[0], cell % 9 + distance * direction[1]
    return 9 * row + column if 0 <= row < 9 and 0 <= column < 9 else None


LINES = [[step(start, direction, distance) for distance in range(5)]
         for start in range(81) for direction in DIRECTIONS[:4]]
LINES = [line for line in LINES if None not in line]


class Position:
    """A position; `play` makes the next one."""

    def __init__(self, board="." * 81, eggs=()):
        self.board, self.eggs, self.judged = list(board), list(eggs), None

    def empty(self):
        return [cell for cell in range(81) if self.board[cell] == "."]

    def remove(self, cell):
        if self.board[cell] == "e":
            self.eggs.remove(cell)
        self.board[cell] = "."

    def pincers(self, arrived, own):
        """The pairs that a turtle that has just arrived captures, as the board is now."""
        found = []
        for direction in DIRECTIONS:
            near, far, anchor = (step(arrived, direction, distance) for distance in (1, 2, 3))
            if anchor is not None and self.board[anchor] == own:
                if all(self.board[cell] not in (".", own) for cell in (near, far)):
                    found.append((near, far))
        return found

    def play(self, black, white):
        after = Position(self.board, self.eggs)
        if black == white:
            after.board[black] = "e"
            after.eggs.append(black)
            return after
        after.board[black], after.board[white] = "b", "w"
        captures = {"b": after.pincers(black, "b"), "w": after.pincers(white, "w")}
        for cell in {cell for pairs in captures.values() for pair in pairs for cell in pair}:
            after.remove(cell)
        after.hatch({side: len(pairs) for side, pairs in captures.items()})
        return after

    def hatch(self, claims):
        while self.eggs and (claims["b"] or claims["w"]):
            egg = self.eggs.pop(0)
            if claims["b"] and claims["w"]:
                self.board[egg] = "."
                claims["b"], claims["w"] = claims["b"] - 1, claims["w"] - 1
                continue
            side = "b" if claims["b"] else "w"
            self.board[egg] = side
            captures = self.pincers(egg, side)
            for cell in {cell for pair in captures for cell in pair}:
                self.remove(cell)
            claims[side] += len(captures) - 1

    def winning(self, side):
        return len({cell for line in LINES if all(self.board[cell] == side for cell in line) for cell in line})

    def outcome(self):
        if self.judged is None:
            black, white = self.winning("b"), self.winning("w")
            status = "sudden_death" if black else "ongoing"
            if black != white:
                status = "black_wins" if black > white else "white_wins"
            elif "." not in self.board:
                status = "draw"
            self.judged = status, black, white
        return self.judged

    def over(self):
        return self.outcome()[0] in ("black_wins", "white_wins", "draw")

    def line(self):
        names = ",".join("ABCDEFGHI"[cell % 9] + str(cell // 9 + 1) for cell in self.eggs) or "-"
        status, black, white = self.outcome()
        return f"{''.join(self.board)} {names} {status} {black}:{white}\n"
