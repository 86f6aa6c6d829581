package export

// Outermost is for tests.
var Outermost = outermost
