package subject

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// TestSiteNames: variants have the parts of paths in which their folders differ.
func TestSiteNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for dirs, want := range map[string]string{
		"old/dist new/dist": "[old new]", "dist ../other": "[dist other]", "/s/a/x /s/b/x /s/c": "[a-x b-x s-c]",
		"/a/1/dist /b/1/dist /b/2/dist": "[a-1 b-1 b-2]", "/s/why /s/.next": "[site-why next]",
		"/v1.0 /v1.0+5":   "[v1.0 v1.0-5]",
		"/dist /old/dist": "[dist old-dist]",
	} {
		if got := fmt.Sprint(SiteNames(strings.Fields(dirs))); got != want {
			t.Errorf("%s: %s, want %s", dirs, got, want)
		}
	}
}

// TestVersions: a test with replacements becomes two versions, and only one test can have them.
func TestVersions(t *testing.T) {
	given := suite.Scripts{AB: []suite.Replacement{{Function: "a", Text: "() => 1"}}}
	one, plain := &suite.Test{Name: "a", Script: given}, &suite.Test{Name: "b"}
	all, err := Versions([]session.Subject{{Test: one}})
	if err != nil || len(all) != 2 || all[0].Name != "original" || all[0].Test.Script.Version != suite.Original ||
		all[1].Name != "replaced" || all[1].Test.Script.Version != suite.Replaced || one.Script.Version != "" {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := Versions([]session.Subject{{Test: plain}, {Test: plain}}); err != nil || len(all) != 2 {
		t.Errorf("without replacements: %+v, %v", all, err)
	}
	if _, err := Versions([]session.Subject{{Test: plain}, {Test: one}}); err == nil {
		t.Error("two tests are accepted")
	}
}
