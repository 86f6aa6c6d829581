package policy

import _ "embed"

//go:embed calls.js
var callsJS string

// callsPolicy records the begin and the end of every call, and the browser's long tasks.
func callsPolicy() Policy {
	return Policy{About{"calls", "Times of every function call, and long tasks."}, true, callsJS}
}
