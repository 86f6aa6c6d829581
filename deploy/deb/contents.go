package main

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/files"
)

// info returns the package's metadata and contents.
func (p program) info(media, from string, libraries []string) *nfpm.Info {
	in := func(name string) string { return filepath.Join(from, name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "eideticker", Arch: p.arch, Platform: "linux", Version: p.version, VersionSchema: "none",
		Section: "video", Priority: "optional",
		Maintainer: "Eideticker maintainers <eideticker@users.noreply.github.com>",
		Homepage:   "https://github.com/eideticker/eideticker",
		License:    "Apache-2.0",
		MTime:      p.built,
		Description: "Records what screens show, and measures it\n" +
			"A rig records every frame of a capture card or a display, drives the input of the device under test,\n" +
			"and measures framerate, load, tearing and response. This package is the program, and a box's service.",
		Overridables: nfpm.Overridables{
			// systemd makes the user and the folders, and udev gives rights to devices.
			Depends: append(slices.Clone(libraries), "systemd", "udev"),
			// What runs on virtual displays of the box's own need, and letters on pages; adb for
			// phones.
			Recommends: []string{"xvfb", "chromium | firefox-esr", "fonts-dejavu-core", "adb", "ca-certificates"},
			Suggests:   []string{"firefox-esr", "ffmpeg", "v4l-utils", "dnsmasq-base", "hostapd"},
			Contents:   p.contents(media, in),
			Scripts: nfpm.Scripts{
				PostInstall: in("box/postinst"), PreRemove: in("box/prerm"), PostRemove: in("box/postrm"),
			},
			Deb: nfpm.Deb{Compression: "zstd"},
		},
	})
	return info
}

// contents are the files of the package. What its user may edit is marked, so that an upgrade asks
// before it replaces it.
func (p program) contents(media string, in func(string) string) files.Contents {
	file := p.file
	return files.Contents{
		file(p.path, "/usr/bin/eideticker", files.TypeFile, 0o755),
		file(media, "/usr/bin/eideticker-media", files.TypeFile, 0o755),
		file(in("box/eideticker.service"), "/usr/lib/systemd/system/eideticker.service", files.TypeFile, 0o644),
		file(in("box/network.conf"), "/usr/share/eideticker/network.conf", files.TypeFile, 0o644),
		file(in("box/60-eideticker.rules"), "/usr/lib/udev/rules.d/60-eideticker.rules", files.TypeFile, 0o644),
		file(in("box/sysusers.conf"), "/usr/lib/sysusers.d/eideticker.conf", files.TypeFile, 0o644),
		file(in("box/tmpfiles.conf"), "/usr/lib/tmpfiles.d/eideticker.conf", files.TypeFile, 0o644),
		// Who compares in CI installs the package on the machine that asks the rig.
		file(in("ci/rig-compare"), "/usr/share/eideticker/ci/rig-compare", files.TypeFile, 0o755),
		file(in("ci/hub-compare"), "/usr/share/eideticker/ci/hub-compare", files.TypeFile, 0o755),
		file(in("ci/github.yml"), "/usr/share/doc/eideticker/ci/github.yml", files.TypeFile, 0o644),
		file(in("ci/github-hosted.yml"), "/usr/share/doc/eideticker/ci/github-hosted.yml", files.TypeFile, 0o644),
		file(in("ci/gitlab.yml"), "/usr/share/doc/eideticker/ci/gitlab.yml", files.TypeFile, 0o644),
		file(in("ci/taskcluster.yml"), "/usr/share/doc/eideticker/ci/taskcluster.yml", files.TypeFile, 0o644),
		file(in("ci/buildbot.py"), "/usr/share/doc/eideticker/ci/buildbot.py", files.TypeFile, 0o644),
		file(in("box/copyright"), "/usr/share/doc/eideticker/copyright", files.TypeFile, 0o644),
		file(in("box/eideticker.toml"), "/etc/eideticker/eideticker.toml", files.TypeConfig, 0o644),
		file(in("box/devices.yaml"), "/etc/eideticker/devices.yaml", files.TypeConfig, 0o644),
		file(in("box/61-eideticker-capture.rules"), "/etc/udev/rules.d/61-eideticker-capture.rules", files.TypeConfig,
			0o644),
	}
}

func (p program) file(source, target, kind string, mode fs.FileMode) *files.Content {
	return &files.Content{Source: source, Destination: target, Type: kind,
		FileInfo: &files.ContentFileInfo{Mode: mode, MTime: p.built}}
}

// addShare adds the files of a folder below /usr/share: man pages and completions.
func (p program) addShare(info *nfpm.Info, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		info.Contents = append(info.Contents, p.file(path, "/usr/share/"+filepath.ToSlash(name), files.TypeFile, 0o644))
		return err
	})
}
