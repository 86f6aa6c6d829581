// Package runtime has the JavaScript that instrumented pages and workers run. It keeps records in a
// ring, relates the realm's clock to the rig's, and sends batches to the collector.
//
// SCRIPT.md in the folder above specifies the batches. The program is one function. Its parts are
// files with one concern each:
//
//	natives.js    saves natives before a page can replace them
//	ring.js       keeps records and the texts of details
//	send.js       sends batches in idle time and at the end of the page
//	clock.js      asks for the rig's time
//	integrity.js  leaves the check of a script's integrity to the rig
//	blob.js       defines the inserted names in files that pages make of functions' texts
//
// Inserted names are hidden globals: they cannot be listed, changed or removed. All failures are
// caught: a page never gets an exception from the runtime.
package runtime

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.js
var files embed.FS

// Options describe one prelude.
type Options struct {
	Nonce     string   // part of every inserted name
	Collector string   // URL that ends in a slash
	Policies  []string // JavaScript of the policies, in order
	Integrity bool     // scripts may be changed, so the browser must not check them
}

// Prelude returns the program that a page runs before its own. It is one line without a semicolon
// at its end.
func Prelude(o Options) string {
	parts := []string{"natives.js", "ring.js", "send.js", "clock.js", "start.js"}
	if o.Integrity {
		parts = append(parts, "integrity.js", "blob.js")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "(()=>{'use strict';const nonce=%q,base=%q,guard=%q;", o.Nonce, o.Collector, Guard(o.Nonce))
	for _, name := range parts {
		b.WriteString(line(part(name)))
	}
	for _, text := range o.Policies {
		b.WriteString(line(text))
	}
	b.WriteString(line(part("begin.js")))
	b.WriteString("})()")
	return b.String()
}

// Guard returns a statement that defines the inserted names if the realm has no prelude. They do
// nothing then. It is one line.
func Guard(nonce string) string {
	return `typeof E` + nonce + `=="undefined"&&[..."ERKFCsr"].map(k=>Object.defineProperty(self,k+"` + nonce +
		`",{value:(d,v)=>v,configurable:!0}));`
}

func part(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded
	}
	return string(text)
}

// line joins the lines of a file without comments. A comment has a line of its own, or ends one
// after a blank.
func line(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		l, _, _ = strings.Cut(l, " // ")
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "//") {
			b.WriteString(l)
			b.WriteByte(' ')
		}
	}
	return b.String()
}
