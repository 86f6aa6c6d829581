// Package doctor finds out whether a box is fit to record, and says what to do where it is not.
//
// It works in two steps that are kept apart. First facts are gathered: what only measuring tells
// ([MeasureDisk], [MeasureClock]), and what the program knows from elsewhere (capture devices,
// displays). Then [Box.Examine] holds these and what the kernel tells in /sys, /proc and /etc
// against what the signals need, and makes findings of it. That step reads through an fs.FS and
// measures nothing, so that its tests run on trees of boxes that we don't have.
//
// What the kernel does not tell is left out or said to be unknown; nothing is taken for good
// because nobody could look.
package doctor
