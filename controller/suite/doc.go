// Package suite is test files: what a test does to a device, what it measures there, and how often.
//
// A test file is YAML. It is read strictly: whatever is not understood is an [Error] that says the
// file, the line, the column, what is wrong and what was perhaps meant. test.schema.json says the
// same to editors, and the package's tests hold it against the types here, in both directions.
//
// Place in the flow: package controller takes a [Test], starts a device's browser with its page or
// URL, does its steps, and has the recording measured as the test asks. This package knows no
// device, no page and no measure: names of pages and measures are held against what there is by
// whoever has both ([Known]).
//
// # Places
//
// Points and regions are pixels of the content, from its upper left corner: the rectangle in which
// the green was seen, the page's own or the one that the rig shows before any other. So a test does
// not depend on the bars of a browser. "places: screen" asks for pixels of the screen. A point may
// be given in percent of either.
//
// # Bounds
//
// A file has at most [MaxFile] bytes, its steps nest maxNesting deep, and a run of it does at
// most maxSteps of them. An alias counts as what it stands for. Steps that would go on for longer
// than the test's own timeout are the runner's to end.
package suite
