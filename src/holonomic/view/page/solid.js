class Solid {
  constructor() { throw new Error("later"); }
}
