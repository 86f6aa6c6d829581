// Package runtime has the JavaScript that instrumented pages and workers run. It keeps records in a
// ring, relates the realm's clock to the rig's, and sends batches to the collector.
//
// SCRIPT.md in the folder above specifies the batches. The program is one function. Its parts are
// files with one concern each:
//
//	natives.js    saves natives before a page can replace them
//	ring.js       keeps records and the texts of details
//	send.js       sends batches in idle time and at the end of the page
//	tally.js      sends the numbers of policies
//	objects.js    reads objects of the page without its code
//	clock.js      asks for the rig's time
//	begin.js      reports long tasks and slow requests, and begins
//	integrity.js  leaves the check of a script's integrity to the rig
//	gates.js      records the calls of slow functions only
//	original.js   lets the page read its own texts, and replaces natives
//	dynamic.js    sends code that the page makes to the rig, which inserts code
//	workers.js    does so for workers that begin with a text of the page
//	frames.js     gives the prelude to empty frames
//	node          has the parts of Node programs, which write batches to a file
//
// Inserted names are hidden globals: they cannot be listed, changed or removed. All failures are
// caught: a page never gets an exception from the runtime.
package runtime

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed *.js node
var files embed.FS

// Options describe one prelude.
type Options struct {
	Nonce     string   // part of every inserted name
	Collector string   // URL that ends in a slash
	Policies  []Policy // in order
	Break     bool     // the policy loops leaves a loop once
	Integrity bool     // scripts may be changed, so the browser must not check them
	Gates     bool     // functions have gates
	Live      bool     // the page opens and closes them
	Patience  int64    // ms: slower answers make the page run its own code without insertions
}

// Policy is the part of a prelude that one policy adds.
type Policy struct {
	Name, Text string
	// Calls are the functions that insertions call, without those of all policies. Those that the
	// text does not define do nothing.
	Calls []string
	// Objects is set if the text uses the functions of objects.js.
	Objects bool
}

// Prelude returns the program that a page runs before its own. It is one line without a semicolon
// at its end. Comments with the nonce enclose it, so that the runtime can remove it from texts.
func Prelude(o Options) string {
	parts := []string{"natives.js", "ring.js", "send.js", "tally.js", "clock.js", "start.js"}
	if o.Integrity {
		parts = append(parts, "original.js", "integrity.js", "dynamic.js", "workers.js", "frames.js")
	}
	if o.Gates {
		parts = append(parts, "gates.js")
	}
	if slices.ContainsFunc(o.Policies, func(p Policy) bool { return p.Objects }) {
		parts = append(parts, "objects.js")
	}
	var b strings.Builder
	comment := "/*" + o.Nonce[1:] + "*/"
	calls := o.calls()
	names := append(strings.Split(common, ""), calls...)
	fmt.Fprintf(&b, "%s(()=>{'use strict';const nonce=%q,base=%q,guard=%q,names=[%s],breaks=%t,live=%t,patience=%d;",
		comment, o.Nonce, o.Collector, Guard(o.Nonce, calls...), `"`+strings.Join(names, `","`)+`"`, o.Break,
		o.Live, o.Patience)
	fmt.Fprintf(&b, "const {%s}=self;", natives)
	for _, name := range parts {
		b.WriteString(line(part(name)))
	}
	for _, p := range o.Policies {
		if len(p.Calls) == 0 {
			b.WriteString(line(p.Text))
			continue
		}
		fmt.Fprintf(&b, "try{const hide=guarded(%q);%s}catch(e){failed(%q);}", p.Name, line(p.Text), p.Name)
	}
	b.WriteString("complete();")
	b.WriteString(line(part("begin.js")))
	b.WriteString("})()" + comment)
	return b.String()
}

// NodeOptions describe the runtime of Node programs.
type NodeOptions struct {
	Nonce    string
	Folder   string // of logs and channels
	Channels int    // to the rewriter
	Start    int64  // ns of CLOCK_MONOTONIC from which times of the logs count
	Quota    int64  // bytes of a realm's log
	Policies []string
	Signal   string // starts and stops the recording; empty: none
	// Begins records from the start. Callbacks records what runs later because of a call.
	Begins, Callbacks bool
}

// Node returns a script that Node preloads, and the module of its loader's thread. A program names
// its functions start, stop and log by the symbol eideticker.tracer.
func Node(o NodeOptions) (preload, hooks string) {
	folder, err := json.Marshal(o.Folder)
	if err != nil {
		panic(err) // a text always has a form
	}
	watch, err := json.Marshal(part("node/watch.js"))
	if err != nil {
		panic(err)
	}
	constants := fmt.Sprintf("const folder=%s,channels=%d;", folder, o.Channels)
	hooks = part("node/hooks.mjs") + constants + "\n" + part("node/ask.js") +
		"export const load = async (url, context, next) => edited(url, await next(url, context));\n"
	var b strings.Builder
	fmt.Fprintf(&b, "'use strict';(()=>{const nonce=%q,start=%dn,quota=%d,signal=%q,begins=%t,callbacks=%t,watch=%s;%s",
		o.Nonce, o.Start, o.Quota, o.Signal, o.Begins, o.Callbacks, watch, constants)
	for _, name := range []string{"node/natives.js", "ring.js", "send.js", "tally.js", "node/start.js"} {
		b.WriteString(line(part(name)))
	}
	for _, text := range o.Policies {
		b.WriteString(line(text))
	}
	b.WriteString(line(part("node/ask.js")) + line(part("node/begin.js")) + "})();\n")
	return b.String(), hooks
}

// Guard returns a statement that defines the inserted names if the realm has no prelude. They do
// nothing then. It is one line. The calls are those of the policies.
func Guard(nonce string, calls ...string) string {
	names := `..."` + common + `"`
	for _, name := range calls {
		names += `,"` + name + `"`
	}
	return `typeof E` + nonce + `=="undefined"&&[` + names + `].map(k=>Object.defineProperty(self,k+"` + nonce +
		`",{value:(d,v)=>v,configurable:!0}));`
}

// natives are the globals that a prelude uses by name. A worker's program begins with the prelude.
// A class Event of the program would hide the native, and is not initialized yet.
const natives = "Array,ArrayBuffer,DataView,Date,Document,Error,Event,Float64Array,Function,Int32Array,Int8Array," +
	"JSON,Map,Math,Object,PerformanceEntry,PerformanceObserver,PerformanceObserverEntryList,Promise,Proxy,Reflect," +
	"String,Symbol,TextEncoder,Uint16Array,Uint32Array,Uint8Array,WeakMap,WeakSet,crypto,decodeURIComponent," +
	"encodeURIComponent,escape,navigator,performance"

// common has the names that are always defined.
const common = "ERKFCsrvGBQk"

// calls returns the further names.
func (o *Options) calls() (all []string) {
	for _, p := range o.Policies {
		all = append(all, p.Calls...)
	}
	return all
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
