package report

import (
	"fmt"
	"html/template"
	"path"
	"strings"
)

// environment lists what is known, in the order of the keys, those of later programs behind them.
func environment(e Environment) []fact {
	names := map[string]string{
		EnvDUT: "device under test", EnvOS: "system", EnvNetwork: "network", EnvRigBuild: "recorded by",
		EnvRigOS:         "rig’s system",
		EnvAnalysisBuild: "analysed by", EnvMachineShared: "browser and recorder on one machine",
	}
	var all []fact
	seen := map[string]bool{}
	for _, key := range append(EnvironmentKeys(), sortedKeys(e)...) {
		if text := e[key]; text != "" && !seen[key] {
			all = append(all, fact{firstOf(names[key], words(key)), text})
		}
		seen[key] = true
	}
	return all
}

func settings(s Settings) []fact {
	all := []fact{
		{"measures", firstOf(strings.Join(s.Measures, ", "), "all that apply")},
		{"region", regionText(s.Region)},
		{"tolerance", fmt.Sprint(s.Tolerance)},
		{"pixels that may differ", count(s.MinPixels)},
	}
	if s.Tolerance == 0 {
		all[2].Text = "0, exact"
	}
	for _, m := range s.Masks {
		all = append(all, fact{"left out", regionText(m)})
	}
	if s.Strict {
		all = append(all, fact{"strict", "a lost frame in a window is an error"})
	}
	return all
}

func regionText(r []int) string {
	if len(r) != 4 {
		return "found"
	}
	return fmt.Sprintf("%d × %d at %d, %d", r[2], r[3], r[0], r[1])
}

// runFiles are the files of the run that are of use beside the page. A single page has none beside
// it.
func runFiles(r *Results, from *files) []link {
	if from.inline {
		return nil
	}
	all := []link{{FileName, "all numbers", FileName}}
	add := func(name, text string) {
		if address := from.refer(name); address != "" {
			all = append(all, link{base(name), text, template.URL(address)})
		}
	}
	add(r.Recording.File, "the recording, every pixel")
	if r.Video != nil {
		add(r.Video.File, "the video")
	}
	return all
}

// functions are those of the template.
func functions() template.FuncMap { return template.FuncMap{"count": count} }

func base(name string) string { return path.Base(name) }

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return count(n) + " times"
}
