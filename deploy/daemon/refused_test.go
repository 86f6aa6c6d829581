package daemon_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// Fault: An uploaded test or address that names files or loopback services
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a"), daemontest.New("b")}, nil)
	files := func(test string) *api.Upload {
		return &api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": test}}
	}
	steps := func(s string) *api.Upload {
		return files("name: t\nurl: https://example.org/\nend: still 1s\nsteps:\n  - " + s + "\n")
	}
	n := func(i int) *int { return &i }
	for name, p := range map[string]api.StartParams{
		"nothing":                     {},
		"two things":                  {Test: "scene", URL: "https://example.org"},
		"a file":                      {Test: "/etc/passwd.yaml"},
		"a file below":                {Test: "../../x.yaml"},
		"file url":                    {URL: "file:///etc/passwd"},
		"file url, in capitals":       {URL: "FILE:///etc/passwd"},
		"script url":                  {URL: "javascript:alert(1)"},
		"data url":                    {URL: "data:text/html,x"},
		"a bare path":                 {URL: "/etc/passwd"},
		"a bare host":                 {URL: "example.org"},
		"loopback":                    {URL: "http://127.0.0.1:8430/"},
		"loopback by name":            {URL: "http://localhost:8430/"},
		"loopback below a name":       {URL: "http://a.localhost/"},
		"loopback with a point":       {URL: "http://localhost./"},
		"loopback of six":             {URL: "http://[::1]/"},
		"loopback in six":             {URL: "http://[::ffff:127.0.0.1]/"},
		"loopback as a number":        {URL: "http://2130706433/"},
		"loopback in hexadecimal":     {URL: "http://0x7f.0.0.1/"},
		"loopback cut short":          {URL: "http://127.1/"},
		"loopback in wide points":     {URL: "http://127。0。0。1:8430/"},
		"loopback in wide letters":    {URL: "http://ｌocalhost/"},
		"loopback with a soft hyphen": {URL: "http://lo\u00adcalhost/"},
		"loopback in circles":         {URL: "http://①②⑦.⓪.⓪.①/"},
		"loopback by six's name":      {URL: "http://ip6-localhost/"},
		"loopback in full":            {URL: "http://localhost.localdomain/"},
		"a host that cannot be":       {URL: "http://a⁥b/"},
		"any address":                 {URL: "http://0.0.0.0/"},
		"link-local":                  {URL: "http://169.254.169.254/latest/meta-data"},
		"a password":                  {URL: "https://user:pass@example.org/"},
		"a long url":                  {URL: "https://example.org/" + strings.Repeat("a", 3000)},
		"control characters":          {Test: "scene", Label: "a\x1b[2Jb"},
		"a long label":                {Test: "scene", Label: strings.Repeat("a", 200)},
		"turned text":                 {Test: "scene", Label: "a\u202eb"},
		"many runs":                   {Test: "scene", Repeat: 100_000},
		"negative runs":               {Test: "scene", Repeat: -1},
		"negative warm-ups":           {Test: "scene", WarmUp: n(-1)},
		"negative retries":            {Test: "scene", Retries: n(-1)},
		"a long pause":                {Test: "scene", CooldownNS: int64(48 * time.Hour)},
		"a device twice":              {Test: "scene", Devices: []string{"a", "a"}},
		"a policy twice":              {Test: "scene", Script: []string{"calls", "calls"}},
		"an unknown profile":          {Test: "scene", Profile: "samples,calls"},
		"an empty part of a profile":  {Test: "scene", Profile: "samples,"},
		"two ways of a profile":       {Test: "scene", Profile: "samples,imports"},
		"functions of an address":     {URL: "https://example.org/", Profile: "functions"},
		"a profile of 2 GiB": {Upload: files("name: t\nurl: https://example.org/\nend: still 1s\n" +
			"profile: {native: samples, limit: 2GiB}\n")},
		"an unknown policy":       {Test: "scene", Script: []string{"call"}},
		"no policy":               {Test: "scene", Script: []string{}},
		"a browser twice":         {Test: "scene", Browsers: []string{"one", "one"}},
		"no such browser":         {Test: "scene", Browsers: []string{"lynx"}},
		"upload without the test": {Upload: &api.Upload{Test: "u.yaml", Files: map[string]string{"t.yaml": ""}}},
		"upload that is none":     {Upload: &api.Upload{Test: "t.txt", Files: map[string]string{"t.txt": ""}}},
		"upload of a path": {
			Upload: &api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": "", "../x": ""}}},
		"upload of an absolute path": {
			Upload: &api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": "", "/etc/x": ""}}},
		"upload of a folder": {
			Upload: &api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": "", "a/b": ""}}},
		"upload of what is hidden": {
			Upload: &api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": "", ".b": ""}}},
		"upload that is large": {
			Upload: &api.Upload{Test: "t.yaml",
				Files: map[string]string{"t.yaml": "", "b": strings.Repeat("a", 1<<20)}}},
		"upload with a file url":      {Upload: files("name: t\nurl: file:///etc/passwd\nend: still 1s\n")},
		"upload that loads a file":    {Upload: steps("load: file:///etc/passwd")},
		"upload that loads a path":    {Upload: steps("load: etc/passwd")},
		"upload that loads loopback":  {Upload: steps("load: http://127.0.0.1:1/")},
		"upload that loads in a loop": {Upload: steps("repeat: {times: 2, steps: [{load: \"file:///etc/passwd\"}]}")},
		"upload that plays a path":    {Upload: steps("replay: ../../../etc/passwd")},
		"upload that plays nothing":   {Upload: steps("replay: none.touch")},
		"upload with an unknown key":  {Upload: files("name: t\nurl: https://example.org\nexec: rm\n")},
		"upload of no such value": {
			Upload: files("name: t\nurl: https://example.org\nend: still 1s\nprimary: fps.nonsense\n")},
		"upload with vitals": {Upload: files("name: t\nurl: https://example.org\nend: still 1s\nvitals: true\n")},
		"upload of no YAML":  {Upload: files("\x00\x01")},

		"vitals of an address":      {URL: "https://example.org/", Vitals: true},
		"a fresh test":              {Test: "scene", Fresh: true},
		"a fresh live page":         {URL: "https://example.org/", Fresh: true},
		"a short step":              {Test: "scene", FilmstripStepNS: 1},
		"a step below 0":            {Test: "scene", FilmstripStepNS: -1e9},
		"a long step":               {Test: "scene", FilmstripStepNS: int64(time.Hour)},
		"many devices":              {Test: "scene", Devices: make([]string, 300_000)},
		"a variant that is a run":   {Test: "scene", Variants: []api.Variant{{Name: "run.json"}, {}}},
		"a variant of failures":     {Test: "scene", Variants: []api.Variant{{Name: "failed"}, {}}},
		"one variant":               {Test: "scene", Variants: make([]api.Variant, 1)},
		"many variants":             {Test: "scene", Variants: make([]api.Variant, 17)},
		"variants of nothing":       {Variants: make([]api.Variant, 2)},
		"a variant of two things":   {Variants: []api.Variant{{}, {Test: "scene", URL: "https://a.test/"}}},
		"a variant above":           {Test: "scene", Variants: []api.Variant{{Name: ".."}, {}}},
		"a variant that is a path":  {Test: "scene", Variants: []api.Variant{{Name: "a/b"}, {}}},
		"a variant that is a part":  {Test: "scene", Variants: []api.Variant{{Name: "a~b"}, {}}},
		"a variant that is a file":  {Test: "scene", Variants: []api.Variant{{Name: "set.json"}, {}}},
		"a variant that is a mark":  {Test: "scene", Variants: []api.Variant{{Name: "pinned"}, {}}},
		"a variant twice":           {Test: "scene", Variants: []api.Variant{{Name: "a"}, {Name: "a"}}},
		"a variant on the loopback": {Test: "scene", Variants: []api.Variant{{}, {URL: "http://127.0.0.1/"}}},
		"a variant in no browser":   {Test: "scene", Variants: []api.Variant{{}, {Browser: "lynx"}}},
		"no such network":           {URL: "https://example.org/", Network: "5g"},
		"gestures of a test":        {Test: "scene", Gestures: &api.Gestures{Scroll: true}},
		"no gestures":               {URL: "https://example.org/", Gestures: &api.Gestures{}},
		"a place of control":        {URL: "https://example.org/", Gestures: &api.Gestures{Click: []string{"a\x00"}}},
		"many places":               {URL: "https://example.org/", Gestures: &api.Gestures{Click: make([]string, 17)}},
		"a long text":               {URL: "https://a.test/", Gestures: &api.Gestures{Text: strings.Repeat("a", 1001)}},
	} {
		if p.Devices == nil {
			p.Devices = []string{"a"}
		}
		if _, err := r.Daemon.Start(t.Context(), "me", p); code(err) != api.InvalidParams {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), r.Dir) {
			t.Errorf("%s: the answer tells where the rig keeps things: %v", name, err)
		} else if said := err.Error(); strings.Contains(said, "allow_") &&
			!strings.Contains(said, "runs.allow_loopback") {
			t.Errorf("%s: there is no such key in a configuration: %v", name, err)
		}
	}
	for name, p := range map[string]api.StartParams{"no such device": {Test: "scene", Devices: []string{"c"}},
		"no such test": {Test: "scenery", Devices: []string{"a"}}} {
		if _, err := r.Daemon.Start(t.Context(), "me", p); code(err) != api.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all := r.Jobs(true); len(all) != 0 {
		t.Errorf("jobs came of it: %+v", all)
	}
	if j, err := r.Daemon.Start(t.Context(), "me",
		api.StartParams{URL: "https://bücher.example/", Devices: []string{"a"}}); err != nil {
		t.Errorf("a name with other letters: %v", err)
	} else if _, err := r.Cancel(j.ID, everybody); err != nil {
		t.Error(err)
	}
	if j, err := r.Daemon.Start(t.Context(), "me",
		api.StartParams{Upload: steps("key: a"), Devices: []string{"a"}}); err != nil {
		t.Errorf("what is good is refused: %v", err)
	} else if _, err := r.Cancel(j.ID, everybody); err != nil {
		t.Error(err)
	}
}

// TestNumbersOutOfRange: an error about a number uses the words of the interface.
func TestNumbersOutOfRange(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	n := func(i int) *int { return &i }
	most := 1.5
	for want, p := range map[string]api.StartParams{
		"repeat is -1: must be 1 to 10000":                            {Repeat: -1},
		"warm_up is -1: must be 0 to 10000":                           {WarmUp: n(-1)},
		"retries is 10001: must be 0 to 10000":                        {Retries: n(10_001)},
		"cooldown_ns is 172800000000000: must be 0 to 86400000000000": {CooldownNS: int64(48 * time.Hour)},
		"max_lost is 1.5: must be 0 to 1":                             {MaxLost: &most},
	} {
		p.Test, p.Devices = "scene", []string{"a"}
		if _, err := r.Daemon.Start(t.Context(), "me", p); code(err) != api.InvalidParams ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestUploadsAreUntrusted: browsers that play a client's test or address cannot reach files and
// services of the rig. The rig's own tests can.
//
// Fault: A test that opens files, file dialogs or developer tools in the browser
func TestUploadsAreUntrusted(t *testing.T) {
	t.Parallel()
	device := daemontest.New("a")
	device.Fail = errors.New("that is enough")
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{device}, nil)
	upload := api.StartParams{
		Upload: &api.Upload{Test: "t.yaml",
			Files: map[string]string{"t.yaml": "name: t\npage: /load.html\nend: still 1s\n"}}}
	for _, tc := range []struct {
		p         api.StartParams
		untrusted bool
	}{{api.StartParams{Test: "scene"}, false}, {upload, true}, {api.StartParams{URL: "https://example.org/"}, true}} {
		p, untrusted := tc.p, tc.untrusted
		p.Devices = []string{"a"}
		j, err := r.Daemon.Start(t.Context(), "me", p)
		if err != nil {
			t.Fatal(err)
		}
		if j = r.Ended(j.ID); !strings.Contains(j.Reason, "that is enough") || device.Wanted().Untrusted != untrusted ||
			(device.Wanted().Egress != nil) != untrusted {
			t.Errorf("untrusted is %v, want %v, and it is kept from services: %v: %s", device.Wanted().Untrusted,
				untrusted, device.Wanted().Egress != nil, j.Reason)
		}
	}
}
