// Package analyze computes what a user saw. It takes a recording's frames and changes, and returns
// measures with unit, bounds and the frames that prove them.
//
// It is between the recording and the report. The reader of recordings implements Recording. The
// package uses no paths or files.
//
// # Steps
//
//  1. A Window selects frames: those between the sync markers, or a range. It never spans two
//     formats.
//  2. An Area selects pixels: the region, without masks and without the code strip.
//  3. Analyze passes over the window's frames once for all measures. The window is split into
//     parts, which run in parallel. Each measure forks for a part and merges in the order of the
//     parts. If every requested measure follows from the changes, no pixel is decoded.
//  4. Each measure returns a Result: values with bounds, series per frame, evidence, or a sentence
//     that states why it has none.
//
// Each measure is in the package of its name, with its definition. Package measure is the contract
// between both.
package analyze
