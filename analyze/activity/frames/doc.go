// Package frames states what the threads of a device did before each frame of a recording.
//
// The interval of a unique frame begins at the time of the unique frame before it. It ends at its
// own time. An [Activity] is the activity of a thread within such a span. [Results] describes the
// late frames of a run, and tests which functions take a larger share of their time.
//
// Times of calls and switches are exact. A sample counts as its period for the span with its time.
// Let a function be in n samples, which are r uninterrupted runs of samples of the thread. Its time
// is then n ± r periods. This assumes that it ran between the samples of a run and not elsewhere.
package frames
