// Package webui is the web page of the daemon: plain ES modules, a style, and the one library that
// draws its charts, embedded in the program.
//
// Place in the flow: in front of everything. It serves files and nothing else; what the page shows
// it asks of package api, in the browser. The page shares its look and the playing of videos with
// report.html of package report, whose parts are served below /shared/.
//
// The charts' library comes from npm and is no part of the repository: `make webui` puts it into
// page/vendor, and `make build` calls that. A program that was built without it works, and the page
// says where a chart is missing.
//
// Nothing on the page comes from elsewhere: a content security policy lets it load and talk to its
// own origin only, and lets no script stand in a document. Names from outside are only ever text of
// nodes.
package webui
