package api

import "time"

// Limits of the interface. Those that a configuration may change have their defaults in package
// config.
const (
	MaxMessage  = 2 << 20 // bytes of a message or of the body of a call
	MaxBatch    = 32      // calls in one message
	MaxNesting  = 32      // arrays and objects within each other
	MaxName     = 128     // bytes of a name, label, branch; also of a revision or note
	MaxQuery    = 300     // bytes of a search
	MaxWords    = 10      // of a search's text
	MaxLimit    = 200     // entries of a page of a list
	MaxFiles    = 32      // files of an upload
	MaxUpload   = 1 << 20 // bytes of all of them together
	MaxURL      = 2048    // bytes of an address
	MaxBuilds   = 1000    // of build.list
	MaxVariants = 16      // tests, browsers and devices of a job that take turns

	MaxTraceLimit = 2 << 30 // bytes of the files of a profile's engine

	MinFilmstripStep = 20 * time.Millisecond
	MaxFilmstripStep = time.Minute

	MaxGestures = 16   // places of gestures
	MaxTyped    = 1000 // bytes of their text

	MaxReservation = 24 * time.Hour
	MaxRecording   = 24 * time.Hour
	MinKeepLast    = time.Second
	MaxKeepLast    = 10 * time.Minute

	PreviewWidth = 640 // pixels at most
	PreviewRate  = 5   // pictures a second at most
)

// Role is what a token allows. Each includes the ones before.
type Role string

// The roles.
const (
	View  Role = "view"
	Run   Role = "run"
	Admin Role = "admin"
)

// Roles are all there are, from least to most.
func Roles() []Role { return []Role{View, Run, Admin} }

// Allows reports whether a role includes another one.
func (r Role) Allows(asked Role) bool { return r.rank() >= asked.rank() && r.rank() > 0 }

func (r Role) rank() int {
	for i, o := range Roles() {
		if o == r {
			return i + 1
		}
	}
	return 0
}
