// Package analyze says what a user saw: it takes a recording's frames and changes, and returns
// measures, each with its unit, its bounds and the frames that prove it.
//
// Place in the flow: behind the recording, before the report. A Recording is declared here, by
// whoever reads it; no path and no file is known to this package.
//
// # Steps
//
//  1. A Window says which frames are meant: those between the sync markers, or a range. Nothing
//     spans two formats.
//  2. An Area says which pixels count: the region, without masks and without the code strip.
//  3. Analyze goes through the window's frames, once for all measures together. It is split into
//     parts, which run side by side; each measure forks for a part and merges in the order of the
//     parts. Where all that is asked for follows from the changes, no pixel is decoded.
//  4. Each measure returns a Result: values with bounds, series per frame, evidence, or a sentence
//     why there is none.
//
// While a recording is being made, Live takes its frames as they come: it finds the markers, feeds
// the measures that need no frame from behind, and has their results when the red is held; the
// others follow from the growing file. Results are the same.
//
// Each measure stands in the file of its name, with its definition.
package analyze
