package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// contexts are what an expression of GitHub's may name, by where in a workflow it stands: the table
// "Context availability" of its reference, as far as our recipe goes. "*" is any key. A workflow
// with another one in a place is refused as a whole.
var contexts = map[string]string{
	"env":                              "github secrets inputs vars",
	"jobs.*.env":                       "github needs strategy matrix vars secrets inputs",
	"jobs.*.if":                        "github needs vars inputs",
	"jobs.*.name":                      "github needs strategy matrix vars inputs",
	"jobs.*.runs-on":                   "github needs strategy matrix vars inputs",
	"jobs.*.container":                 "github needs strategy matrix vars inputs",
	"jobs.*.timeout-minutes":           "github needs strategy matrix vars inputs",
	"jobs.*.steps.*.if":                "github needs strategy matrix job runner env vars steps inputs",
	"jobs.*.steps.*.env":               inSteps,
	"jobs.*.steps.*.name":              inSteps,
	"jobs.*.steps.*.run":               inSteps,
	"jobs.*.steps.*.with":              inSteps,
	"jobs.*.steps.*.working-directory": inSteps,
}

const inSteps = "github needs strategy matrix job runner env vars secrets steps inputs"

var (
	expression = regexp.MustCompile(`\$\{\{(.*?)\}\}`)
	literal    = regexp.MustCompile(`'[^']*'`)
	named      = regexp.MustCompile(`(?:^|[^\w.-])([A-Za-z_][\w-]*)\s*[.\[]`)
)

// misplaced says which expressions of a workflow, or a part of it, name a context that is not
// there.
func misplaced(part any, place []string) (all []string) {
	switch v := part.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, misplaced(v[key], append(slices.Clone(place), key))...)
		}
	case []any:
		for _, item := range v {
			all = append(all, misplaced(item, append(slices.Clone(place), "*"))...)
		}
	case string:
		allowed := allowedIn(place)
		for _, e := range expressionsIn(v, place) {
			for _, name := range named.FindAllStringSubmatch(literal.ReplaceAllString(e, ""), -1) {
				if !slices.Contains(allowed, name[1]) {
					all = append(all, fmt.Sprintf("%s in %s", name[1], strings.Join(place, ".")))
				}
			}
		}
	}
	return all
}

// expressionsIn returns what is between braces; an if is an expression without.
func expressionsIn(text string, place []string) (all []string) {
	for _, e := range expression.FindAllStringSubmatch(text, -1) {
		all = append(all, e[1])
	}
	if len(all) == 0 && place[len(place)-1] == "if" {
		all = append(all, text)
	}
	return all
}

// allowedIn returns the contexts of a place, or of what that is in; none where the table has
// nothing.
func allowedIn(place []string) []string {
	for n := len(place); n > 0; n-- {
		for pattern, allowed := range contexts {
			if keys := strings.Split(pattern, "."); len(keys) == n &&
				slices.EqualFunc(keys, place[:n], func(k, p string) bool { return k == "*" || k == p }) {
				return strings.Fields(allowed)
			}
		}
	}
	return nil
}

// TestWorkflowContexts holds the recipe for GitHub against where it lets contexts stand.
func TestWorkflowContexts(t *testing.T) {
	for _, name := range []string{"github.yml", hostedRecipe} {
		for _, wrong := range misplaced(readRecipe(t, name), nil) {
			t.Errorf("%s: there is no context %s", name, wrong)
		}
	}
}

// What GitHub refuses is noticed, and what it takes is not.
func TestMisplaced(t *testing.T) {
	for _, tc := range [][2]string{
		{"jobs: {rig: {env: {OUT: '${{ runner.temp }}/x'}}}", "[runner in jobs.rig.env.OUT]"},
		{"jobs: {rig: {env: {OUT: \"${{ format('{0}', runner['temp']) }}\"}}}", "[runner in jobs.rig.env.OUT]"},
		{"jobs: {rig: {if: secrets.TOKEN != ''}}", "[secrets in jobs.rig.if]"},
		{"jobs: {rig: {steps: [{if: secrets.TOKEN != ''}]}}", "[secrets in jobs.rig.steps.*.if]"},
		{"permissions: {contents: '${{ github.ref }}'}", "[github in permissions.contents]"},
		{"env: {X: '${{ vars.a || needs.b.c }}'}", "[needs in env.X]"},
		{"jobs: {rig: {steps: [{env: {OUT: '${{ runner.temp }}'}, run: 'echo runner.temp'}]}}", "[]"},
		{"jobs: {rig: {if: \"always() && github.event.runner.x == 'secrets.y'\"}}", "[]"},
	} {
		text, want := tc[0], tc[1]
		var workflow any
		if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(misplaced(workflow, nil)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
