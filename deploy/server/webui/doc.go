// Package webui is the web page of the daemon: plain ES modules and a style, embedded in it.
//
// Place in the flow: in front of everything. It serves files only. The page requests its data
// through package api. Runs are drawn by the modules of package report, which report.html
// inlines; they are served below /shared/.
//
// A content security policy restricts the page to its own origin and admits no inline
// script. Names from outside become text nodes, never markup.
package webui
