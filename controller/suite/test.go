package suite

import (
	"io/fs"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// Test is one test file.
type Test struct {
	Name  string `yaml:"name" need:"true"` // letters and digits, dots, dashes and underscores
	About string `yaml:"about"`            // one sentence for people

	// Page is a path on the test network's own server, "/framerate.html". Site is a path in a build
	// of a web site, which each run brings along. URL is anything else. One of them is given. Steps
	// that launch or load something themselves begin from "about:blank".
	Page string `yaml:"page"`
	Site string `yaml:"site"`
	URL  string `yaml:"url"`

	// names of analyze's measures; none: all that apply
	Measures []string `yaml:"measures"`
	// values to compare by, such as fps.framerate; none: the usual ones of its measures
	Primary []string `yaml:"primary"`
	// smaller differences than these are of no interest: by measure, or measure.value
	Thresholds map[string]Percent `yaml:"thresholds"`
	// limits of values, such as fps.longest_freeze: 100ms, on their worse side
	Budgets map[string]Limit `yaml:"budgets"`
	// kind of the event that load figures count from; "": navigation, launch or input, the last
	T0 string `yaml:"t0"`
	// kind of the event that the measured window begins with; "": the content's first change
	Begin string `yaml:"begin"`
	// frames a second that the content means to draw; 0: unknown
	Cadence   float64        `yaml:"cadence" min:"0" max:"1000"`
	Tolerance Tolerance      `yaml:"tolerance"`
	Region    frame.Region   `yaml:"region"` // the measured region of the content; zero: all of it
	Masks     []frame.Region `yaml:"masks"`  // what does not count

	Network Network `yaml:"network"`
	Sync    Sync    `yaml:"sync" also:"end"`
	Window  Size    `yaml:"window"` // of the browser's content; zero: the device's own
	Places  Places  `yaml:"places"`
	Steps   []Step  `yaml:"steps"` // done once the content is there, in order
	// the page's own claims are read, which adds load
	Vitals bool `yaml:"vitals"`
	// the page's scripts are instrumented, which adds load
	Script Scripts `yaml:"script"`
	// the activity of the device's processes is recorded, which adds load
	Profile Profile `yaml:"profile"`

	Repeat   int           `yaml:"repeat" min:"1" max:"10000"` // runs that count; 0: what the user asks for, else one
	Warmup   int           `yaml:"warmup" min:"0" max:"10000"` // runs before them that do not
	Cooldown time.Duration `yaml:"cooldown"`                   // pause after each run
	// how many runs more may be made for those whose capture was not good enough
	Retries int `yaml:"retries" min:"0" max:"10000"`
	// of one run, from its first step or its green to its end
	Timeout time.Duration `yaml:"timeout" min:"1"`

	// File is the path of the test, for messages, and Text its content. Dir is its folder, for its
	// replayed recordings. Standard marks one of ours. They are not part of the file.
	File     string `yaml:"-"`
	Text     []byte `yaml:"-"`
	Dir      fs.FS  `yaml:"-"`
	Standard bool   `yaml:"-"`
}

// Served reports if the rig itself serves the first page.
func (t *Test) Served() bool { return t.URL == "" }

// Network is the link between a device and its server. A profile's figures are overridden by those
// that are given.
type Network struct {
	Profile string        `yaml:"profile"` // the test network's name for a link, such as cable; "": none
	RTT     time.Duration `yaml:"rtt"`
	Down    Rate          `yaml:"down"`
	Up      Rate          `yaml:"up"`
	Loss    *Percent      `yaml:"loss"` // of packets, each way; nil: as the profile has it, else none

	// Protocol is by which alone pages are served with TLS, of the rig's own and of archives; "":
	// the rig's own by HTTP/1.1 without TLS, archives by HTTP/2 where their sites had TLS.
	Protocol Protocol `yaml:"protocol"`
	// KeyLog keeps the secrets of TLS in the run's folder, for those who look at its packets.
	KeyLog bool `yaml:"key-log"`

	// Replay is an archive of a site in or below the test's folder. It answers for every name in
	// place of the live web. "" serves the rig's own pages.
	Replay string `yaml:"replay"`
	// Determinism gives the pages of an archive their own clock and random numbers, the same for
	// the same number. 0 leaves them the browser's.
	Determinism int `yaml:"determinism" min:"1" max:"1000000000"`
}

// On returns the network with another link, for the same page.
func (n Network) On(profile string) Network {
	return Network{Profile: profile, Protocol: n.Protocol, KeyLog: n.KeyLog, Replay: n.Replay,
		Determinism: n.Determinism}
}

// Scripts is how the scripts of a page are instrumented on their way to the browser.
type Scripts struct {
	Policies []string `yaml:"policies" need:"true"` // names, in the order in which they nest
	// Share is the part of the loads that measures a function; nil: all do
	Share *Percent `yaml:"share"`
	// Adapt is how a run selects functions: between "loads", or also "live" in the page; "": all
	Adapt string `yaml:"adapt"`
	// Seed makes the selection of shares repeatable; 0: that of the runs
	Seed int `yaml:"seed" min:"1" max:"1000000000"`
	// functions that the policy ab replaces
	AB []Replacement `yaml:"ab"`
	// Version is that of all loads; "": each load draws one.
	Version Version `yaml:"-"`
	// Break makes the policy loops leave a loop that it warns of.
	Break bool `yaml:"break"`
}

// The ways to adapt, as in package plan.
const (
	adaptLoads = "loads"
	AdaptLive  = "live"
)

// Planned reports if a run selects functions.
func (s Scripts) Planned() bool { return s.Adapt != "" || s.Share != nil }

// Replacement is another text for a function of a page.
type Replacement struct {
	Function string `yaml:"function" need:"true"` // such as slow, or slow (app.js:12)
	With     string `yaml:"with" need:"true"`     // a file with a function expression, beside the test
	// Text is the file's; empty: it is not read yet.
	Text string `yaml:"-"`
}

// Version is one side of an A/B test.
type Version string

// The versions of a test with replacements.
const (
	Original Version = "original"
	Replaced Version = "replaced"
)

// Given reports if scripts are instrumented.
func (s Scripts) Given() bool { return len(s.Policies) > 0 }

// Protocol is what browsers and servers speak, as TLS calls it.
type Protocol string

// The protocols.
const (
	HTTP1 Protocol = "http/1.1"
	HTTP2 Protocol = "h2"
	HTTP3 Protocol = "h3"
)

// Given reports whether a test asks for a network of its own. Otherwise the device has what it has.
func (n Network) Given() bool { return n != Network{} }

// Link returns the conditions of the link.
func (n Network) Link() Link { return Link{n.Profile, n.RTT, n.Down, n.Up, n.Loss} }

// Sync says how the end of the content is known. Exactly one field is set after reading.
type Sync struct {
	Markers bool          // green stands before the content, and red after it
	Still   time.Duration // the picture does not change for so long; the content ended when that began
	Event   string        // an event of this kind, such as one that a mark step makes
	Limit   time.Duration // so long after the first step
}

// Places says what points and regions are counted from.
type Places string

// The places; see the package documentation.
const (
	content Places = "content" // the default
	Screen  Places = "screen"
)

// Tolerance is by how much R, G and B of a pixel may differ without it counting as changed.
type Tolerance struct {
	Auto bool // calibrated on the held green
	N    int  // 0 to 255
}
