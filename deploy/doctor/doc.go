// Package doctor checks whether a box is fit to record, and returns a remedy for each problem.
//
// It works in two separate steps. First it gathers facts: measurements ([measureDisk],
// [measureClock]), and the program's other knowledge (capture devices, displays). Then
// [Box.Examine] compares these and the kernel's facts in /sys, /proc and /etc with the requirements
// of the signals. It returns findings. That step reads through an fs.FS and measures nothing. So
// its tests run on file trees of boxes that we don't have.
//
// A fact that the kernel does not report is left out or reported as unknown. It never counts as
// good.
package doctor
