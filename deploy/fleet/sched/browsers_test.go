package sched

import "testing"

// TestBrowsers: a job goes only to a device with all of its browsers. It waits for one, and says
// which idle device lacks a browser.
//
// Fault: A rig of a fleet lacks the browser that plays the builds of a site
func TestBrowsers(t *testing.T) {
	s := New(Options{})
	with := func(name, browsers string) Device {
		d := phone(name, "pixel7")
		d.Labels["browser"] = browsers
		return d
	}
	s.SetRig(lab("lab-01", with("a", "chromium,chromium-140,firefox")))
	s.SetRig(lab("lab-02", with("b", "firefox,firefox-140")))
	site := func(feed string) bool { return feed == "shop" }
	add := func(id string, browsers ...string) {
		j := job(id, "ann", needs(t, "model=pixel7"))
		j.Browsers = Installed(browsers, site)
		s.Add(j)
	}
	add("s-1", "chromium@shop", "firefox@shop:v1", "chrome@nightly", "typed", "")
	expect(t, s, noon, "s-1:lab-01/a")
	add("s-2", "chromium@shop")
	expect(t, s, noon, "")
	if _, why := s.Wait("s-2", noon); why != "waits for lab-01/a, which runs s-1; lab-02/b has no browser chromium" {
		t.Error(why)
	}
	s.SetRig(lab("lab-02", with("b", "chromium,firefox"))) // it was installed
	expect(t, s, noon, "s-2:lab-02/b")
	s.SetRig(lab("lab-03", with("c", "")))
	add("s-3", "opera") // a device without a list may have it
	expect(t, s, noon, "s-3:lab-03/c")
}
