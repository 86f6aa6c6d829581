// Package terminal prints results and comparisons for people, and progress bars.
//
// Lines fit the width of a terminal. Files and pipes get unbroken lines without colours. Texts from
// files and devices cannot control the terminal.
package terminal
