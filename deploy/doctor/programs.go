package doctor

// program is one that a command starts.
type program struct {
	name   string
	any    []string // of these one will do
	what   string   // what needs it
	advice string
}

func programs() []program {
	return []program{
		{"Xvfb", []string{"Xvfb"}, "eideticker demo plays pages on a virtual display",
			"Install it with sudo apt install xvfb if you want to run eideticker demo."},
		{"browser", []string{"chromium", "chromium-browser", "google-chrome", "firefox", "firefox-esr"},
			"eideticker demo plays pages in it",
			"Install one with sudo apt install chromium if you want to run eideticker demo."},
		// Which mostly only root's PATH leads to.
		{"dnsmasq", []string{"dnsmasq", "/usr/sbin/dnsmasq"},
			"it gives devices at an interface of this machine their addresses, in tests with a network",
			"Run sudo apt install dnsmasq-base if devices.yaml names a network."},
		{"hostapd", []string{"hostapd", "/usr/sbin/hostapd"},
			"it makes a wireless interface of this machine an access point for a device under test",
			"Install it with sudo apt install hostapd if a device is fed by such an interface."},
		{"perf", []string{"perf"}, "--profile samples and eideticker profile record functions of a device's processes",
			"Install it with sudo apt install linux-perf if you want samples."},
		{"uftrace", []string{"uftrace"}, "--profile functions and imports record each call",
			"Install it with sudo apt install uftrace if you want calls."},
		{"ffmpeg", []string{"ffmpeg"}, "make bench-peers compares with it; nothing else needs it",
			"Install it with sudo apt install ffmpeg if you want to run make bench-peers."},
		{"eideticker-media", []string{"eideticker-media"}, "it encodes the videos of runs, and decodes video files",
			"Install it beside eideticker, with make build or the package."},
	}
}

// programs lists the sources without a capture card, and the installed programs for them.
func (b *Box) programs(g *group) {
	if len(b.Screens) == 0 {
		g.add(Finding{ID: "display", Level: Info, Found: "no X display on this machine",
			Advice: "Start one with Xvfb :9 if you want to record x11::9; capture cards need none."})
	}
	for _, s := range b.Screens {
		if s.Err != nil {
			g.add(Finding{ID: "display", Object: s.Name, Level: Warn, Found: "X display that cannot be recorded: " +
				s.Err.Error(),
				Advice: "Run this as the user whose display it is, or name its key with XAUTHORITY."})
			continue
		}
		g.add(Finding{ID: "display", Object: s.Name, Found: "X display of " + s.Size})
	}
	for _, p := range programs() {
		found := ""
		for _, name := range p.any {
			if path, err := b.LookPath(name); err == nil && found == "" {
				found = path
			}
		}
		if found == "" {
			g.add(Finding{ID: "program", Object: p.name, Level: Info, Found: "not installed; " + p.what,
				Advice: p.advice})
			continue
		}
		g.add(Finding{ID: "program", Object: p.name, Found: found})
	}
}
