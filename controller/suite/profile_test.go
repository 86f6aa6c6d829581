package suite

import "testing"

func TestParseProfile(t *testing.T) {
	for text, want := range map[string]Profile{
		"samples":            {Native: ProfileSamples},
		"samples,js,sockets": {Native: ProfileSamples, JS: ProfileAuto, Sockets: true},
		"functions, js":      {Native: profileFunctions, JS: profileTrace},
		"js":                 {JS: profileTrace},
		"sockets":            {Sockets: true},
		"samples,trace":      {Native: ProfileSamples, JS: profileTrace},
	} {
		got, err := ParseProfile(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                  `unknown part "": use samples, functions, imports, auto, js, map, trace, sockets`,
		"samples,functions": "functions cannot be with another way",
		"map":               "js: map names functions of samples; add native: samples",
	} {
		if _, err := ParseProfile(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	all := Profile{Native: ProfileSamples, JS: ProfileMap, Sockets: true}
	if text := all.Text(); text != "samples, js map, sockets" {
		t.Errorf("text %s", text)
	}
}
