package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// udevToken is a part of a rule, as in udev(7): a key, perhaps with an attribute, an operator
	// and a value.
	udevToken = regexp.MustCompile(`^([A-Z_]+)(?:\{([A-Za-z0-9_]+)\})?(==|!=|=|\+=|-=|:=)"([^"]*)"$`)
	// udevName is what a substitution may name.
	udevName = regexp.MustCompile(`\$(?:env|attr)\{[A-Za-z0-9_]+\}`)
)

// udevRule is one line: its parts in order.
type udevRule []udevPart

type udevPart struct{ key, attribute, operator, value string }

// parseUdev reads rules as udev does, and refuses what it would pass over with a line in its log.
func parseUdev(text string) (all []udevRule, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var rule udevRule
		for token := range strings.SplitSeq(line, ", ") {
			m := udevToken.FindStringSubmatch(token)
			if m == nil {
				err = errors.Join(err, fmt.Errorf("line %d: %q is not a part of a rule", i+1, token))
				continue
			}
			p := udevPart{m[1], m[2], m[3], m[4]}
			match := p.operator == "==" || p.operator == "!="
			switch p.key {
			case "ACTION", "SUBSYSTEM", "KERNEL", "ENV", "ATTR":
				if !match || (p.key == "ENV" || p.key == "ATTR") != (p.attribute != "") {
					err = errors.Join(err, fmt.Errorf("line %d: %s is looked at, not set", i+1, p.key))
				}
			case "SYMLINK", "GROUP", "MODE", "OPTIONS", "GOTO", "LABEL":
				if match || strings.Contains(udevName.ReplaceAllString(p.value, ""), "$") {
					err = errors.Join(err, fmt.Errorf("line %d: %s is set, to what udev can know", i+1, p.key))
				}
			default:
				err = errors.Join(err, fmt.Errorf("line %d: no rule of ours needs %s", i+1, p.key))
			}
			rule = append(rule, p)
		}
		all = append(all, rule)
	}
	return all, err
}

func (r udevRule) value(key string) string {
	for _, p := range r {
		if p.key == key {
			return p.value
		}
	}
	return ""
}

func TestRules(t *testing.T) {
	users := string(read(t, "../box/sysusers.conf"))
	files, err := filepath.Glob("../box/*.rules")
	if err != nil || len(files) != 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		// The commented example has to be right too.
		text := strings.ReplaceAll(string(read(t, file)), "\n#SUBSYSTEM", "\nSUBSYSTEM")
		rules, err := parseUdev(text)
		if err != nil || len(rules) < 2 {
			t.Errorf("%s: %d rules, %v", file, len(rules), err)
		}
		for i, r := range rules {
			if group := r.value("GROUP"); group != "" &&
				!regexp.MustCompile(`(?m)^[gu] `+group+` `).MatchString(users) {
				t.Errorf("%s: nobody makes the group %s", file, group)
			}
			if label := r.value("GOTO"); label != "" &&
				!slices.ContainsFunc(rules[i:], func(later udevRule) bool { return later.value("LABEL") == label }) {
				t.Errorf("%s: %s is not behind where it is gone to", file, label)
			}
			if mode := r.value("MODE"); mode != "" && mode != "0660" {
				t.Errorf("%s: mode %s", file, mode)
			}
		}
	}
}

// TestRulesCatch makes sure that the test above can fail.
func TestRulesCatch(t *testing.T) {
	for _, bad := range []string{
		`SUBSYSTEM="video4linux"`, `SUBSYSTEM=="video4linux" KERNEL=="x"`, `SUBSYSTEM==video4linux`, `GROUP=="x"`,
		`SYMLINK+="capture/$env{ID PATH}"`,
		`SYMLINK+="$ID_PATH"`, `ENV=="x"`, `RUN+="/bin/sh"`, `KERNEL=="x",GROUP="y"`,
	} {
		if _, err := parseUdev(bad); err == nil {
			t.Errorf("%s is taken for a rule", bad)
		}
	}
}
