package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/suite"
)

// TestVariants: tests, addresses and changes of one test become variants. Several tests have enough
// blocks for a verdict.
func TestVariants(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	if err := os.WriteFile("shop.yaml", []byte("name: shop\nurl: http://shop.example/\n"+
		"measures: [fps]\nend: 3s\nsteps:\n  - click: [9, 9]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	two, six, many := 2, 6, 50
	samples := profileFlag{"samples", suite.Profile{Native: suite.ProfileSamples}}
	for name, tc := range map[string]struct {
		cmd     runCmd
		want    string // name, test, network, browser of each
		repeat  int
		looks   stats.Looks
		scripts string // policies of each; "": not compared
		// profiles of each; "": not compared
		profiles string
	}{
		"one":        {cmd: runCmd{Tests: []string{"load"}}, want: "local load  ", repeat: 1},
		"two tests":  {cmd: runCmd{Tests: []string{"load", "scroll"}}, want: "load load  |scroll scroll  ", repeat: 8},
		"one, twice": {cmd: runCmd{Tests: []string{"load", "load"}}, want: "load load  |load-2 load  ", repeat: 8},
		"browsers": {cmd: runCmd{Tests: []string{"load"}, Browser: []string{"chromium", "firefox"}},
			want: "chromium load  chromium|firefox load  firefox", repeat: 1},
		"both": {cmd: runCmd{Tests: []string{"load", "scroll"}, Browser: []string{"chromium", "firefox"}, Repeat: &two},
			want: "load-chromium load  chromium|load-firefox load  firefox|" +
				"scroll-chromium scroll  chromium|scroll-firefox scroll  firefox", repeat: 2},
		"networks": {cmd: runCmd{Tests: []string{"load"},
			Variant: []string{"a=network:3g", "b=network:lte,browser:firefox"}},
			want: "a load 3g |b load lte firefox", repeat: 8},
		"observer effect": {cmd: runCmd{Tests: []string{"load"}, Script: []string{"calls"}, ObserverEffect: &six},
			want: "plain load  |instrumented load  ", repeat: 6, scripts: "|calls"},
		"profiled": {cmd: runCmd{Tests: []string{"load"}, Profile: samples, Repeat: &six},
			want: "plain load  |profiled load  ", repeat: 6, profiles: "|samples"},
		"one profiled run": {cmd: runCmd{Tests: []string{"load"}, Profile: samples}, want: "local load  ", repeat: 1,
			profiles: "samples"},
		"profiled only": {cmd: runCmd{Tests: []string{"load"}, Profile: samples, Repeat: &six, ProfiledOnly: true},
			want: "local load  ", repeat: 6, profiles: "samples"},
		"profiled until a failure": {cmd: runCmd{Tests: []string{"load"}, Profile: samples, Repeat: &six,
			UntilFail: true}, want: "local load  ", repeat: 6, profiles: "samples"},
		"two profiled": {cmd: runCmd{Tests: []string{"load", "scroll"}, Profile: samples},
			want: "load-plain load  |load load  |scroll-plain scroll  |scroll scroll  ", repeat: 8,
			profiles: "|samples||samples"},
		"addresses": {cmd: runCmd{Variant: []string{"old=http://a.example/x,y", "new=test:http://b.example/"}},
			want: "old a.example  |new b.example  ", repeat: 8},
		// Fault: the given test and its steps were dropped.
		"addresses of a test": {cmd: runCmd{Tests: []string{"shop.yaml"},
			Variant: []string{"old=http://a.example/", "new=http://b.example/,browser:firefox"}},
			want: "old shop http://a.example/  |new shop http://b.example/  firefox", repeat: 8},
		"four": {cmd: runCmd{Tests: []string{"load", "load", "load", "load"}},
			want: "load load  |load-2 load  |load-3 load  |load-4 load  ", repeat: 10},
		"until sure": {cmd: runCmd{Tests: []string{"load", "load"}, UntilSure: true, Repeat: &many},
			want: "load load  |load-2 load  ", repeat: 50, looks: stats.NewLooks(5, 50)},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := tc.cmd.options(&env{ctx: t.Context()})
			if err != nil {
				t.Fatal(err)
			}
			if o.ObserverEffect != (tc.cmd.ObserverEffect != nil) {
				t.Errorf("the set states %t of the observer effect", o.ObserverEffect)
			}
			var got, scripts, profiles []string
			for i, v := range o.Variants {
				name := o.TestOf(i).Name
				if len(o.TestOf(i).Steps) > 0 && o.TestOf(i).URL != "" {
					name += " " + o.TestOf(i).URL
				}
				got = append(got, fmt.Sprintf("%s %s %s %s", v.Name(), name, o.TestOf(i).Network.Profile, v.Browser))
				scripts = append(scripts, strings.Join(o.TestOf(i).Script.Policies, ","))
				profiles = append(profiles, o.TestOf(i).Profile.Text())
			}
			if all := strings.Join(profiles, "|"); tc.profiles != "" && all != tc.profiles {
				t.Errorf("profiles %q, want %q", all, tc.profiles)
			}
			if all := strings.Join(scripts, "|"); tc.scripts != "" && all != tc.scripts {
				t.Errorf("policies %q, want %q", all, tc.scripts)
			}
			all := strings.Join(got, "|")
			if all != tc.want || o.Repeat != tc.repeat || !slices.Equal(o.Looks, tc.looks) {
				t.Errorf("%s, %d blocks, looks %v", all, o.Repeat, o.Looks)
			}
		})
	}
}

// TestVariantsRefused: each mistake is a usage error that names it.
func TestVariantsRefused(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for args, want := range map[string]string{
		"":                                                               "no test: name a test",
		"load --variant a=network:3g":                                    "--variant is given once",
		"load --variant a --variant b=scroll":                            `--variant "a" must be NAME=TEST`,
		"load --variant ../a=x --variant b=y":                            "must be NAME=TEST",
		"--variant a=network:3g --variant b=x":                           "--variant a has no test",
		"load --variant a=scroll --variant a=load":                       "--variant a is given twice",
		"load --variant a=network:9g --variant b=load":                   `unknown profile "9g"`,
		"load --variant a=http://a/ --variant b=load":                    "load loads a built-in page; name a test",
		"load --rig http://a --variant a=http://a/ --variant b=load":     "a rig cannot change the address of a test",
		"load --variant a=network: --variant b=load":                     "--variant a: network is empty",
		"load --variant a=device:x --variant b=load":                     "x",
		"load --variant a=browser:/no/chrome --variant b=load":           "browser /no/chrome:",
		"load --variant a=browser:/bin/sh --variant b=load":              "unknown kind",
		"load scroll --variant a=load --variant b=load":                  "--variant changes one test, and 2 are given",
		"load --until-sure":                                              "--until-sure needs two variants",
		"load load --until-sure --repeat 7":                              "use --repeat 8 or more",
		"load --profile js -n 2 --variant a=load --variant a-plain=load": "has the name of the plain runs",
		"load --profile samples -n 2 --fail-on-regression":               "and --markdown need two",
		"load --variant set.json=load --variant b=load":                  "a file of the set has this name",
		"load load --until-sure --until-fail":                            "cannot be used with --until-fail",
		"load scroll --until-sure --rig http://127.0.0.1:1":              "--until-sure cannot be used with --rig",
		"--rig http://127.0.0.1:1":                                       "no test: name a test",
		"load --browser firefox --browser firefox":                       "firefox is given twice",
		"load --fail-on-regression":                                      "and --markdown need two",
		"load load --browser chromium --browser chromium --device local": "is given twice",
	} {
		var out, errOut strings.Builder
		if code := run(t.Context(), append([]string{"run"}, strings.Fields(args)...), strings.NewReader(""), &out,
			&errOut); code != exitUsage || !strings.Contains(errOut.String(), want) {
			t.Errorf("%s: exit code %d, want %s\n%s", args, code, want, &errOut)
		}
	}
}

// TestTraceLimitOfRig: a job has the limits of the profile.
func TestTraceLimitOfRig(t *testing.T) {
	p, err := runCmd{Tests: []string{"load"}, Profile: profileFlag{text: "samples"},
		profileLimits: profileLimits{TraceLimit: 1 << 20, Strict: true}}.startParams()
	if err != nil || p.Profile != "samples" || p.TraceLimit != 1<<20 || !p.Strict {
		t.Errorf("%+v: %v", p, err)
	}
}
