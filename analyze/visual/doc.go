// Package visual computes load figures. It defines the progress of a picture to the last one in
// several ways. Figures summarize such a progress over time.
//
// Package analyze feeds it with planes, rows and changed rectangles. It does not depend on
// recordings, windows or regions. It is pure Go.
//
// # Contents
//
//	Histogram   RGB-histogram progress, as browsertime's script computes it;
//	SSIM        structural similarity to a reference (Wang et al. 2004), and as pyssim has it;
//	Edges       count of Canny's edges, as OpenCV finds them for the script: contentfulness;
//	Figures     Speed Index, first and last change, visually complete, with bounds;
//	Script…     the same from whole milliseconds and per cents, rounded where the script rounds;
//	Rules       frames that the script keeps before it computes: orange, start, duplicates;
//	Thumbnail   the size to which it shrinks frames, and our scaler.
//
// Histogram, SSIM and Edges are incremental. A caller passes the changes. The result equals a
// complete computation, to the bit. Unchanged parts cost nothing.
//
// # The script
//
// browsertime computes its visual metrics with visualmetrics/visualmetrics-portable.py. All
// statements here about "the script" are about commit [ScriptCommit] of sitespeedio/browsertime.
// "The old script" is its predecessor visualmetrics/visualmetrics.py, which is still quoted, at
// commit [OldScriptCommit]. These are its steps, in order, called as browsertime calls it (--orange
// --renderignore 5 --viewport --viewportminheight 100 --viewportminwidth 100):
//
//  1. The viewport is the first one of more than 100x100 pixels among the first 60 frames. Ours is
//     the area that was marked.
//  2. ffmpeg crops to it and scales so that the frame fits into 400x400, smaller or larger
//     ([ThumbnailSize]). It uses its default (bicubic) scaler in the video's own pixel format. It
//     drops frames with mpdecimate=0:64:640:0.001. It drops frames like the last kept one: no block
//     of 8x8 samples differs by more than 64 in sum. The 8 leftmost columns are in no block. Times
//     are rounded down to whole ms.
//  3. Orange frames at both ends are removed. So are frames before the first orange one, if it is
//     among the first 21.
//  4. Frames that look like the first one are removed, until one does not. Time counts from the
//     first one.
//  5. Frames that look like the last one are removed, until one does not. The earliest of them
//     stays ([Rules.Keep] for 3 to 5).
//  6. Histograms, white left out ([Histogram]); progress in whole per cents, rounded down
//     ([Progress.Percent]); Speed Index in whole ms, rounded down. First visual change is the
//     second frame's time, last visual change the last one's.
//  7. On demand SSIM and edges of the same small frames.
//
// On given pictures all of this is arithmetic, and ours gives the same numbers, to the bit. That
// holds for the frames kept by 4 and 5, histograms, progress and Speed Index; also for edges of the
// same luma. SSIM is equal to 1e-9. Step 2 cannot be the same to the bit. ffmpeg scales in YCbCr
// with its own rounding. Shrinking frames creates colours between others that no screen has shown.
//
// So the full picture, without any scaling, is our default. Results on thumbnails scaled by
// [Scaler] are named "script". "script_old" has the old script's progress
// ([HistogramProgressSlop]). "script_old_white" also has its rules for white ([WhiteRules]).
//
// # Ownership
//
// Every kernel belongs to one goroutine. Planes and rows are read during the call only and not
// kept. Only constructors allocate, and [Edges], whose stack grows with its findings.
package visual

// Where the definitions that are quoted in this package stand.
const (
	// sitespeedio/browsertime, visualmetrics-portable.py (28.2 or a little later)
	ScriptCommit    = "0241d7e926e0c7dfecf6232515f2616d26d3ba78"
	OldScriptCommit = "0c5738c0a8d9dc860eff2d4403fbd2f757435512" // sitespeedio/browsertime, visualmetrics.py
	PySSIMCommit    = "222e414a7d8f6e75a8d823e2de85cb7765a55d02" // jterrace/pyssim, ssim/utils.py: the kernel
)
