// Package webui is the web page of the daemon: plain ES modules and a style, embedded in the program.
//
// Place in the flow: in front of everything. It serves files only. The page requests its data through
// package api, in the browser. Runs are drawn by the modules of package report, which report.html
// inlines; they are served below /shared/.
//
// A content security policy lets the page load and talk to its own origin only, and admits no inline
// script. Names from outside become text nodes, never markup.
package webui
