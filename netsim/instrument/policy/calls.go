package policy

import _ "embed"

//go:embed calls.js
var callsJS string

// callsPolicy records the begin and the end of every call.
func callsPolicy() Policy {
	return Policy{About: About{"calls", "Times of every function call."}, Times: true, Runtime: callsJS}
}
