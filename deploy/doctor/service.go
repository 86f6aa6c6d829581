package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// serviceName is the unit that the package installs, serviceUser the user that it runs as.
const (
	serviceName = "eideticker.service"
	serviceUser = "eideticker"
)

// Service has the facts about the daemon on this machine.
type Service struct {
	// State has systemd's properties of its unit: "ActiveState", "SubState", "UnitFileState" and
	// "Result".
	State map[string]string
	Err   error // why systemd could not be asked
	// Address is where it listens, as its configuration has it, and Answer why nobody answers
	// there.
	Address string
	Answer  error
	// Config is why its configuration cannot be read.
	Config error
}

// installed reports whether a box's service is installed, through a root directory.
func installed(root fs.FS) bool {
	for _, dir := range []string{"etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"} {
		if _, err := fs.Stat(root, path.Join(dir, serviceName)); err == nil {
			return true
		}
	}
	return false
}

// service says whether this machine is set up as a box, and what of that is missing.
func (b *Box) service(g *group) {
	if !installed(b.Root) {
		g.add(Finding{ID: "service", Level: Info, Found: "this machine is not set up as a box that serves runs",
			Advice: "Install the package to make it one (make package, docs/install-a-box.md)."})
		return
	}
	b.unit(g)
	b.answers(g)
	b.user(g)
	b.rules(g)
	for _, d := range b.Devices {
		b.captureName(g, d)
	}
	b.storage(g)
}

// unit says what systemd makes of it.
func (b *Box) unit(g *group) {
	s := b.Service.State
	if b.Service.Err != nil {
		g.add(Finding{ID: "service", Level: Info, Found: "systemd could not be asked: " + b.Service.Err.Error(),
			Advice: "Look with systemctl status eideticker."})
		return
	}
	f := Finding{ID: "service", Found: fmt.Sprintf("the service is %s (%s), %s at the start of the machine",
		s["ActiveState"], s["SubState"], s["UnitFileState"])}
	switch {
	case s["ActiveState"] == "failed", s["SubState"] == "auto-restart":
		f.Level, f.Advice = Warn,
			"Read why with journalctl -u eideticker -e, mend it, and start it with sudo systemctl restart eideticker."
		if s["Result"] != "" {
			f.Found += ": " + s["Result"]
		}
	case s["ActiveState"] != "active":
		f.Level, f.Advice = Warn, "Start it with sudo systemctl enable --now eideticker."
	case s["UnitFileState"] != "enabled":
		f.Level, f.Advice = Warn, "Have it started with the machine by sudo systemctl enable eideticker."
	}
	g.add(f)
}

// answers says whether the daemon does.
func (b *Box) answers(g *group) {
	s := b.Service
	f := Finding{ID: "service-address", Object: s.Address, Found: "the rig answers"}
	switch {
	case s.Config != nil:
		f.Level, f.Found, f.Advice = Warn, "the configuration cannot be read: "+s.Config.Error(),
			"Mend it, and restart the service with sudo systemctl restart eideticker."
	case s.Answer != nil:
		f.Level, f.Found = Warn, "the rig does not answer: "+reason(s.Answer)
		f.Advice = "See the service above; if another program has its port (sudo ss -ltnp), choose another."
	case s.Address == "":
		return
	}
	g.add(f)
}

// serviceGroups are those that own what a rig opens, with what each is for.
func serviceGroups() map[string]string {
	return map[string]string{"video": "capture cards", "uinput": "the input uinput", "input": "the input uinput",
		"gpio": "power by GPIO", "plugdev": "phones"}
}

// user says whether the service's user is there, with its groups.
func (b *Box) user(g *group) {
	passwd, _ := b.text("etc/passwd")
	known := slices.ContainsFunc(strings.Split(passwd, "\n"),
		func(line string) bool { return strings.HasPrefix(line, serviceUser+":") })
	if !known {
		g.add(Finding{ID: "service-user", Object: serviceUser, Level: Warn,
			Found:  "the user of the service does not exist",
			Advice: "Make it with sudo systemd-sysusers eideticker.conf."})
		return
	}
	var missing []string
	for name, what := range serviceGroups() {
		if !b.member(name, serviceUser) {
			missing = append(missing, fmt.Sprintf("%s (%s)", name, what))
		}
	}
	slices.Sort(missing)
	f := Finding{ID: "service-user", Object: serviceUser,
		Found: "is in the groups of capture cards, input, power and phones"}
	if len(missing) > 0 {
		f.Level, f.Found = Warn, "is not in "+strings.Join(missing, ", ")
		f.Advice = "Run sudo systemd-sysusers eideticker.conf and restart the service, unless it has access already."
	}
	g.add(f)
}

// member reports whether a user is named in a group.
func (b *Box) member(group, user string) bool {
	s, _ := b.text("etc/group")
	for line := range strings.Lines(s) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) == 4 && fields[0] == group && slices.Contains(strings.Split(fields[3], ","), user) {
			return true
		}
	}
	return false
}

func (b *Box) rules(g *group) {
	const name = "60-eideticker.rules"
	for _, dir := range []string{"etc/udev/rules.d", "usr/lib/udev/rules.d", "lib/udev/rules.d"} {
		if b.exists(path.Join(dir, name)) {
			g.add(Finding{ID: "udev-rules", Object: "/" + path.Join(dir, name),
				Found: "gives rights and names to what a rig is made of"})
			return
		}
	}
	g.add(Finding{ID: "udev-rules", Level: Warn, Found: "the udev rules are not there: " + name,
		Advice: "Install the package again; without them the service may not open HID gadgets, uinput and GPIO."})
}

// captureName says by which name a card is found after a restart too.
func (b *Box) captureName(g *group, d Device) {
	const dir = "dev/capture"
	names, _ := fs.ReadDir(b.Root, dir)
	for _, n := range names {
		target, err := fs.ReadLink(b.Root, path.Join(dir, n.Name()))
		if err == nil && "/"+path.Join(dir, target) == d.Path {
			g.add(Finding{ID: "capture-name", Object: d.Path, Found: "is /" + path.Join(dir, n.Name()) +
				", whatever else is plugged in"})
			return
		}
	}
	f := Finding{ID: "capture-name", Object: d.Path, Level: Info, Found: "has no name that stays"}
	f.Advice = "Give it one in /etc/udev/rules.d/61-eideticker-capture.rules."
	if at := b.udev(d, "ID_PATH"); at != "" {
		f.Advice = fmt.Sprintf(`Put the line SUBSYSTEM=="video4linux", ATTR{index}=="0", ENV{ID_PATH}=="%s", `+
			`SYMLINK+="capture/%d" into /etc/udev/rules.d/61-eideticker-capture.rules.`, at, b.freeName(dir))
	}
	g.add(f)
}

// udev returns a property that udev knows of a device.
func (b *Box) udev(d Device, name string) string {
	number, ok := b.text(path.Join("sys/class/video4linux", path.Base(d.Path), "dev"))
	if !ok {
		return ""
	}
	data, _ := b.text("run/udev/data/c" + number)
	for line := range strings.Lines(data) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "E:"+name+"="); ok &&
			!strings.ContainsAny(value, "\"\\*?[|") {
			return value
		}
	}
	return ""
}

// freeName returns the least number that no card has.
func (b *Box) freeName(dir string) int {
	for n := 0; ; n++ {
		if _, err := fs.ReadLink(b.Root, path.Join(dir, fmt.Sprint(n))); err != nil {
			return n
		}
	}
}
