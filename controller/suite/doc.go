// Package suite reads test files: the actions of a test on a device, its measures and its repeats.
//
// A test file is YAML, read strictly. Unknown input is an [Error] with the file, the line, the
// column, the problem and a similar word. test.schema.json describes it for editors. Tests compare
// it with the types here, in both directions.
//
// Package controller takes a [Test], starts a device's browser with its page or URL, and executes
// its steps. The recording is then measured as the test requests. This package does not depend on
// devices, pages or measures. Callers pass the names of pages and measures to check ([Known]).
//
// # Places
//
// Points and regions are pixels of the content, from its upper left corner. The content is the
// rectangle of the green. The green is the page's own, or the rig's before other pages. So a test
// does not depend on the bars of a browser. "places: screen" selects pixels of the screen. A point
// may be given in percent of either, or as the selector of an element.
//
// # Bounds
//
// A file has at most [MaxFile] bytes. Its steps nest maxNesting deep, and a run of it executes at
// most maxSteps of them. An alias counts as its expansion. The runner ends steps that exceed the
// test's own timeout.
package suite
