package policy

import _ "embed"

//go:embed tracer.js
var tracerJS string

// tracerPolicy lets pages switch the recording of calls and add labels to it.
func tracerPolicy() Policy {
	about := About{"tracer", "With calls: pages stop and start the recording and add labels; lags of the event loop."}
	return Policy{About: about, Runtime: tracerJS}
}
