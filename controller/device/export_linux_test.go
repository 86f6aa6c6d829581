package device

// ProfilesIn returns options with which a browser makes its profile in a folder.
func ProfilesIn(dir string, o BrowserOptions) BrowserOptions {
	o.profiles = dir
	return o
}
