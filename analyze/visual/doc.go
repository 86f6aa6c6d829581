// Package visual holds the kernels behind the load figures: how far a picture has come on its way
// to the last one, by several definitions, and what follows from such a progress over time.
//
// Place in the flow: below package analyze, which feeds it with planes, rows and the rectangles
// that changed. Nothing here knows of recordings, windows or regions. Pure Go.
//
// # What is here
//
//	Histogram   RGB-histogram progress, as browsertime's script computes it
//	SSIM        structural similarity to a reference (Wang et al. 2004), and as pyssim has it
//	Edges       count of Canny's edges, as OpenCV finds them in what the script gives it: contentfulness
//	Figures     Speed Index, first and last change, visually complete, with bounds, from a progress
//	Script…     the same from whole milliseconds and whole per cents, rounded where the script rounds
//	Rules       which frames the script keeps before it computes anything: orange, start, duplicates
//	Thumbnail   the size that it shrinks frames to, and our scaler
//
// Histogram, SSIM and Edges are incremental: a caller passes what has changed, the result is the
// same, to the bit, as if all had been computed anew, and what has not changed costs nothing.
//
// # The script
//
// browsertime computes its visual metrics with visualmetrics/visualmetrics-portable.py. All that is
// said here about "the script" is true of commit [ScriptCommit] of sitespeedio/browsertime. "The
// old script" is visualmetrics/visualmetrics.py, which came before it and is still quoted, at
// commit [OldScriptCommit]. What it does, in order, called as browsertime calls it (--orange
// --renderignore 5 --viewport --viewportminheight 100 --viewportminwidth 100):
//
//  1. The viewport is looked for in the first frame that gives one of more than 100x100 pixels,
//     among the first 60. Ours is the area that was marked.
//  2. ffmpeg crops to it, scales so that the frame fits into 400x400, smaller or larger
//     ([ThumbnailSize]), with its default (bicubic) scaler in the video's own pixel format, and
//     drops frames with mpdecimate=0:64:640:0.001: those in which no block of 8x8 samples differs
//     by a sum of more than 64 from the last one kept (the 8 leftmost columns are in no block).
//     Times are rounded down to whole ms.
//  3. Frames before the first orange one, if there is one among the first 21, and orange ones at
//     both ends go.
//  4. Frames that look like the first one go, until one does not; time counts from the first one.
//  5. Frames that look like the last one go, until one does not, and leave the earliest of them
//     ([Rules.Keep] for 3 to 5).
//  6. Histograms, white left out ([Histogram]); progress in whole per cents, rounded down
//     ([Progress.Percent]); Speed Index in whole ms, rounded down. First visual change is the
//     second frame's time, last visual change the last one's.
//  7. On demand SSIM and edges of the same small frames.
//
// On given pictures all of this is arithmetic, and ours gives the same numbers, to the bit: which
// frames are kept by 4 and 5, histograms, progress, Speed Index, edges of the same luma; SSIM to
// 1e-9. What cannot be the same to the bit is 2: ffmpeg scales in YCbCr with rounding of its own,
// and where frames are shrunk, colours between others appear that no screen has shown. So the full
// picture, without any scaling, is our default; what is computed on thumbnails, scaled by [Scaler],
// is named "script", and "script_old" where the progress is the old script's
// ([HistogramProgressSlop]), "script_old_white" where its rules for white are in force as well
// ([WhiteRules]).
//
// # Ownership
//
// Every kernel belongs to one goroutine. Planes and rows are read during the call only; none is
// kept. Nothing allocates after the constructor, but [Edges], whose stack grows with what it finds.
package visual

// Where the definitions that are quoted in this package stand.
const (
	// sitespeedio/browsertime, visualmetrics-portable.py (28.2 or a little later)
	ScriptCommit    = "0241d7e926e0c7dfecf6232515f2616d26d3ba78"
	OldScriptCommit = "0c5738c0a8d9dc860eff2d4403fbd2f757435512" // sitespeedio/browsertime, visualmetrics.py
	PySSIMCommit    = "222e414a7d8f6e75a8d823e2de85cb7765a55d02" // jterrace/pyssim, ssim/utils.py: the kernel
)
