// Package wire has the messages between a hub and its rigs. They are JSON, in requests of the rig.
//
// A rig asks, and the hub answers. Only [Wake] goes the other way: it tells a rig to poll at once.
// A version works with the one before it. Unknown fields are ignored, so that both can be mixed.
package wire

import (
	"encoding/json"
	"fmt"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/pattern"
)

// Versions that this program speaks, see [Poll.Version].
const (
	Version = 1
	Oldest  = 1
)

// Bounds of messages.
const (
	MaxMessage = 512 << 10 // bytes of one
	MaxRunning = 64        // attempts in a poll
	MaxResults = 16        // results in a poll
	MaxDevices = 64
	MaxLabels  = 64   // of a device
	MaxFeeds   = 64   // of a device
	MaxTests   = 2000 // in a poll; a rig with more names none
	// MaxTestBytes bounds the names of tests in a poll.
	MaxTestBytes = 64 << 10
	MaxLight     = 64 << 20 // bytes of the zip of a set's light folder; 2 MiB per run
	MaxMade      = 8        // builds in a poll and in its answer
	MaxLine      = 8 << 10  // bytes of the line of a build
	MaxBuild     = 4 << 30  // bytes of its archive
)

// RigSubject returns the subject of a rig's requests of a kind: poll, event, ask or relay.
func RigSubject(rig, kind string) string { return "rig." + rig + "." + kind }

// WakeSubject returns the subject of the hub's messages to a rig.
func WakeSubject(rig string) string { return "hub." + rig + ".wake" }

// AttemptID returns the ID of an attempt. It is also the ID of its set on the rig.
func AttemptID(job string, n int) string { return fmt.Sprintf("%s.%d", job, n) }

var attemptForm = pattern.New(`^s-[a-z0-9-]{1,100}\.[1-9][0-9]{0,3}$`)

// IsAttempt reports if a text has the form of an attempt's ID. Such IDs name files of a rig.
func IsAttempt(id string) bool { return attemptForm.MatchString(id) }

// Builder is the label of rigs that make builds of commits for the fleet. It lists their feeds.
const Builder = "builder"

// Owner owns the fleet's jobs in a rig's own queue.
const Owner = "fleet"

// Poll is the state of a rig. It asks for the rig's desired state.
type Poll struct {
	Version int    `json:"version"`
	Program string `json:"program"`
	Boot    string `json:"boot"`       // random, of this start of the program
	Epoch   uint64 `json:"epoch"`      // greatest of a hub that the rig has seen
	ClockNS int64  `json:"clock_ns"`   // the rig's wall clock
	Address string `json:"address"`    // of the rig's own page; "": not told
	Busy    bool   `json:"busy"`       // a device measures now, also for the rig's own people
	Reason  string `json:"reason"`     // why the rig wants no jobs; "": it does
	Accept  Accept `json:"accept"`     // the rig's own limits
	Results int    `json:"unreported"` // results, also those that did not fit

	// Tests are the names of the rig's tests. Nil means that they are not told.
	Tests []string `json:"tests,omitempty"`
	// Profiled are those whose files have a profile, and do not ask for one run only.
	Profiled []string `json:"profiled,omitempty"`

	// Yields states that sets of class fill let other attempts run between two blocks.
	Yields bool `json:"yields,omitempty"`

	// Signs are feeds whose builds the rig makes and signs for other rigs. Fetches are those whose
	// builds it gets from the hub.
	Signs   []string `json:"signs,omitempty"`
	Fetches []string `json:"fetches,omitempty"`
	// Made are builds that the hub wants, as far as they are made.
	Made []Made `json:"made,omitempty"`

	Devices []Device  `json:"devices"`
	Running []Running `json:"running"` // attempts that wait or run on the rig
	Ended   []Ended   `json:"ended"`   // results without acknowledgement, oldest first
}

// Accept limits the jobs that a rig takes. The rig checks it itself. Empty lists accept all.
type Accept struct {
	Owners []string `json:"owners,omitempty" toml:"owners"`
	Kinds  []string `json:"kinds,omitempty" toml:"kinds"` // suite, url, upload
	Feeds  []string `json:"feeds,omitempty" toml:"feeds"`
}

// Device is one of a rig, with what jobs choose it by.
type Device struct {
	Name   string            `json:"device"`
	State  string            `json:"state"` // as in device.list
	Reason string            `json:"reason,omitempty"`
	Labels map[string]string `json:"labels"`
	// Feeds are the rig's feeds whose builds run on the device, at most [MaxFeeds]. Nil means that they
	// are not told.
	Feeds []string `json:"feeds"`
}

// Running is an attempt on its rig.
type Running struct {
	Attempt  string `json:"attempt"`
	State    string `json:"state"` // queued, running
	Progress string `json:"progress,omitempty"`
}

// Ended is the result of an attempt. It is reported until the hub acknowledges it.
type Ended struct {
	Attempt   string      `json:"attempt"`
	State     string      `json:"state"`           // ok, failed, interrupted, cancelled, refused
	Fault     string      `json:"fault,omitempty"` // lab, product
	Reason    string      `json:"reason,omitempty"`
	Verdict   string      `json:"verdict,omitempty"`
	Set       string      `json:"set,omitempty"` // ID on the rig; "": it has no runs
	Runs      []LightRun  `json:"runs,omitempty"`
	StartedNS int64       `json:"started_ns"`
	EndedNS   int64       `json:"ended_ns"`
	Light     *LightState `json:"light,omitempty"` // nil: no folder
}

// LightRun is a run of an attempt.
type LightRun struct {
	Run   string `json:"run"` // path below the set, or the set's ID
	State string `json:"state"`
}

// LightState describes the zip of a light folder.
type LightState struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Polled answers a poll. A rig ignores an answer of a lower epoch than it has seen. An answer with
// an error has no other content: the rig goes on with its attempts.
type Polled struct {
	Epoch   uint64 `json:"epoch"`
	Error   string `json:"error,omitempty"` // the rig is too old, suspended or removed: a sentence
	Drain   bool   `json:"drain,omitempty"`
	NextNS  int64  `json:"next_ns"`       // until the next poll
	JWT     string `json:"jwt,omitempty"` // renewed rights
	ClockNS int64  `json:"clock_ns"`      // the hub's wall clock

	// Desired are all attempts that the rig should do. It cancels others that still wait or run.
	Desired []Assignment `json:"desired"`
	// Acknowledged results are stored. The rig forgets them.
	Acknowledged []string `json:"acknowledged"`
	// Light are tickets for folders that the hub wants first.
	Light []Ticket `json:"light"`
	// Resend are attempts whose results and folders the hub has lost. It wants them again.
	Resend []string `json:"resend,omitempty"`
	// Superseded are attempts of jobs that another attempt has won. Their runs are deleted first.
	Superseded []string `json:"superseded,omitempty"`
	// Make are builds that the hub wants from the rig, for other rigs.
	Make []Build `json:"make,omitempty"`
}

// Build names a build of a feed.
type Build struct {
	Feed  string `json:"feed"`
	Build string `json:"build"`
}

// Made is a build for other rigs, or the reason why it cannot be made.
type Made struct {
	Build
	// Line is one of a feed of kind jsonl, with the signature of the rig that made the build.
	Line   json.RawMessage `json:"line,omitempty"`
	SHA256 string          `json:"sha256,omitempty"` // of the archive
	Bytes  int64           `json:"bytes,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// BuildPath begins the path of a build's archive on its rig. The SHA-256 follows.
const BuildPath = "/fleet/v1/builds/"

// Assignment is an attempt for a rig.
type Assignment struct {
	Attempt string          `json:"attempt"`
	Owner   string          `json:"owner"`
	Class   string          `json:"class"`
	Cancel  string          `json:"cancel,omitempty"` // reason for which the attempt shall end; "": none
	Params  api.StartParams `json:"params"`           // with devices; without upload
	Upload  string          `json:"upload,omitempty"` // SHA-256 of the JSON of an api.Upload, see Ask
	Origin  json.RawMessage `json:"origin,omitempty"`
	Builds  []Made          `json:"builds,omitempty"` // that the rig fetches
}

// Ticket permits one transfer to the hub, by POST to /fleet/v1/ticket/ID. That of a build permits
// GET until it is too old.
type Ticket struct {
	ID      string `json:"ticket"`
	Attempt string `json:"attempt,omitempty"` // of a light folder
	// Of a file: path and query of a GET request of the rig's own interface, and its Range header.
	Path  string `json:"path,omitempty"`
	Range string `json:"range,omitempty"`
}

// StatusHeader is the header of the status of the rig's answer, in its POST to the ticket of a
// file. The POST has the content of that answer, and its Content-Type, Content-Range and ETag.
const StatusHeader = "Eideticker-Status"

// Relay asks for the next ticket of a file. The hub answers when there is one, or after WaitNS.
type Relay struct {
	WaitNS int64 `json:"wait_ns"`
}

// Relayed answers it.
type Relayed struct {
	Tickets []Ticket `json:"tickets"`
}

// Event is a change that is worth showing at once. It is not stored.
type Event struct {
	Running []Running `json:"running"`
}

// Ask asks for an upload, or for the ticket of a build, by its hash.
type Ask struct {
	Upload string `json:"upload"`
	Build  string `json:"build,omitempty"`
}

// Asked answers it.
type Asked struct {
	Upload json.RawMessage `json:"upload,omitempty"`
	Ticket string          `json:"ticket,omitempty"` // of a build
	Error  string          `json:"error,omitempty"`
}

// Join is the request by which a rig enrols, POST /fleet/v1/join.
type Join struct {
	Version int    `json:"version"`
	Program string `json:"program"`
	Token   string `json:"token"`
	Key     string `json:"key"` // public nkey of the rig
}

// Joined answers it.
type Joined struct {
	Rig   string `json:"rig"`
	JWT   string `json:"jwt"`
	Path  string `json:"path"` // of the websocket, below the hub's address
	Epoch uint64 `json:"epoch"`
}
