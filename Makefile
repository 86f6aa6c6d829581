# The two commands: make demo, make test. Both set up what is missing first.

SHELL := bash
GO   ?= go
BIN   := bin/eideticker
WEBUI := deploy/server/webui
TSC   := $(WEBUI)/node_modules/.bin/tsc
ECMA  := netsim/ecma/testdata
NODES := netsim/instrument/node/testdata
ANCHORS := netsim/instrument/testdata/anchors
SUITES  := netsim/instrument/testdata/suites
ARCHIVES := netsim/instrument/testdata/archives
RIG   = $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | sed -n 's/ .*deploy\/rigvm.*//p') ./deploy/rigvm

.PHONY: deps webui screenshots build demo package check test test-rig lint cross race fuzz soak bench bench-peers bench-paced bench-read bench-analyze bench-scripts bench-profile bench-attach bench-rig bench-fleet archives clean

deps:
	@.ci/deps

# Install for tests: the type checker of the web page, the audit of pages, another parser with programs, suites of libraries,
# two versions of Node.
webui: deps $(TSC) $(patsubst %,%/node_modules/.package-lock.json,$(ECMA) $(NODES) $(SUITES))

$(TSC): $(WEBUI)/package-lock.json
	npm --prefix $(WEBUI) ci --ignore-scripts --no-audit --no-fund
	touch $(TSC)

%/node_modules/.package-lock.json: %/package-lock.json
	npm --prefix $* ci --ignore-scripts --no-audit --no-fund
	touch $@

# Pictures of every page, light and dark, wide and narrow, and of a real run, in out/screenshots; README shows two of them, with fewer colours.
screenshots: webui
	mkdir -p out/screenshots
	EIDETICKER_PICTURES=$(CURDIR)/out/screenshots $(GO) test -count=1 -timeout 30m -run '^(TestAllPages|TestRealRig)$$' ./$(WEBUI)
	mkdir -p $(WEBUI)/screenshots
	for page in run compare; do \
		ffmpeg -v error -y -i out/screenshots/real-$$page.png -vf 'split[a][b];[a]palettegen=64[c];[b][c]paletteuse=dither=none' $(WEBUI)/screenshots/$$page.png || exit 1; \
	done

build: deps
	CGO_ENABLED=0 $(GO) build -o $(BIN) ./cmd/eideticker
	CGO_ENABLED=1 $(GO) build -o $(BIN)-media ./cmd/eideticker-media

demo: build
	$(BIN) demo $(ARGS)

# The Debian package of a box, in out/.
package: deps
	CGO_ENABLED=0 $(GO) build -buildvcs=true -trimpath -ldflags="-s -w" -o out/package/eideticker ./cmd/eideticker
	CGO_ENABLED=1 $(GO) build -buildvcs=true -trimpath -ldflags="-s -w" -o out/package/eideticker-media ./cmd/eideticker-media
	$(GO) run ./deploy/deb -o out out/package/eideticker out/package/eideticker-media

# Less garbage collection takes a quarter off the time of compiling, a fifth off lint, a third off tests that compute.
# Programs in real time run as they are shipped: .ci/live removes these.
lint check test race cross: export GOGC = 400
lint check test race cross: export GOMEMLIMIT = 3GiB
# Nobody debugs these programs. Without that information, compiling takes an eighth less, and the cache a quarter.
lint check test race cross: export GOFLAGS := $(shell $(GO) env GOFLAGS) -gcflags=all=-dwarf=false

# Gotest runs go test and lists the slowest packages and tests. Vet has its place in lint.
GOTEST = $(GO) build -o out/gotest ./.ci/gotest && out/gotest -vet=off

# Tests and lint see packages without cgo, as eideticker is shipped, so that no package is compiled twice. These packages
# or their tests have C code.
CGO = $(addprefix ./,analyze/render/encode capture/video/decode cmd/eideticker-media)

# What to run before each commit: it starts no browser and no VM.
check: deps webui lint
	CGO_ENABLED=0 $(GOTEST) -short -p 4 -timeout 5m ./... ./.ci/gotest ./.ci/cross

# Packages whose tests compute, or wait for pages without a look at the time. The others run scenes in real time, which
# lose frames on a machine that is too busy, or clusters, which lose their leader there.
PATIENT = . $(patsubst %,./%/...,analyze capture/frame capture/raw capture/synth capture/video codec/recording codec/rowdelta \
	controller/input/script controller/input/touch controller/input/windows controller/sources controller/suite deploy/api \
	deploy/config deploy/deb $(addprefix deploy/fleet/,agent enroll hub sched wire) deploy/publish deploy/schedule deploy/store \
	netsim/ecma netsim/har netsim/instrument netsim/internal netsim/site) $(addprefix ./,netsim/dns pattern)

# LIVE runs two test programs at a time, but sessions alone. It links others at a low priority.
LIVE = -p 2 -toolexec 'nice -n 10' -exec $(CURDIR)/.ci/live

# The whole test suite. Tests in real time start with the longest. The others run beside them at a low priority.
# A package may take longer than the go command's own limit of ten minutes where the machine is busy.
test: deps webui
	failed=0; CGO_ENABLED=1 $(GO) test -vet=off $(CGO) || failed=$$?; \
	export CGO_ENABLED=0; patient=$$($(GO) list $(PATIENT)) && \
	$(GOTEST) $(LIVE) -timeout 30m ./controller/session ./cmd/eideticker ./controller/device \
		$$($(GO) list ./... | grep -vxF "$$patient") ./.ci/gotest ./.ci/cross \
		-- -vet=off -p 2 -timeout 60m $$patient && exit $$failed

# The tests that boot a VM with real kernel drivers, alone and with a table of what ran in it. They are called TestVM….
test-rig: deps
	$(GO) test -count=1 -p 1 -v -timeout 30m -run '^TestVM' $(RIG)

# What build tags add is looked at where there is such a file. Other platforms are for cross.
TAGGED = $(addprefix ./,$(sort $(dir $(shell git grep -lE '^//go:build.*(rigvm|benchrig)' -- '*.go'))))

lint:
	@out=$$(gofmt -l .); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	CGO_ENABLED=0 $(GO) vet ./... ./.ci/gotest ./.ci/cross
	CGO_ENABLED=1 $(GO) vet $(CGO)
	CGO_ENABLED=0 $(GO) vet -tags rigvm,benchrig $(TAGGED)
	CGO_ENABLED=0 $(GO) build -o out/staticcheck honnef.co/go/tools/cmd/staticcheck
	CGO_ENABLED=0 out/staticcheck ./... ./.ci/gotest ./.ci/cross
	CGO_ENABLED=1 out/staticcheck $(CGO)
	CGO_ENABLED=0 out/staticcheck -tags rigvm,benchrig $(TAGGED)

# The offline commands work wherever Go does, without cgo. Packages and their tests are type-checked; the agents, which
# run on other machines than ours, are linked too. Files for linux/amd64 without cgo are for lint, and a build links them.
# The tag purego replaces vectors by the code that other processors run.
cross:
	$(GO) run ./.ci/cross linux/arm64 darwin/arm64 windows/amd64
	CGO_ENABLED=0 $(GO) test -vet=off -short -tags purego ./analyze/scroll ./codec/rowdelta
	@for agent in linux/arm64/input/hid windows/amd64/input/windows linux/arm64/profile linux/amd64/profile; do \
		IFS=/ read -r os arch name <<<"$$agent"; echo "build the agent $$agent"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -ldflags='-s -w' -o /dev/null ./controller/$$name/agent || exit 1; \
	done

# The race detector. It looks at packages that start goroutines or lock. A value that sync makes once needs no look. Loops
# over pixels are thirty times slower with it, so of some packages it runs the tests that share. It does not see FFmpeg's C,
# browsers or Node.
RACE = $(GO) list -f '{{.ImportPath}}{{range .GoFiles}} {{$$.Dir}}/{{.}}{{end}}' ./... | while read -r package files; do \
	! grep -qE '^[[:space:]]+go [[:alnum:]_.]+\(|\.Go\(func|\<sync\.(Cond|Map|Mutex|Once|Pool|RWMutex|WaitGroup)\>|"sync/' $$files || \
		echo $$package; \
	done | grep -v -e /analyze$$ -e /capture/video$$ -e /cmd/eideticker$$ -e /browsertest$$ -e /netsim/instrument$$ -e /instrument/node$$ -e /runzip$$
# Long tests of one goroutine. Others in their packages take the same locks.
ALONE = -skip '^Test(Redact|QueueOfUploads|LargestMessage|TearingImagesAreDisjoint|ComparePool|Moves|EqualBuilds|MetadataIsBounded|OpenReadsNoEventData|MemoryOfAFrame|NoAllocationPerFrame|ResidualsAreDamaged|FlippedBits)$$'
# Packages of sequential loops over bytes and pixels are not instrumented: the tests of the others call them.
# None of them may use sync.Map or atomic.Pointer, since the linker would keep its copies of generic code for all packages.
UNRACED = compress/... hash/... image/... golang.org/x/image/... github.com/golang/freetype/... git.sr.ht/~sbinet/gg \
	modernc.org/sqlite/lib $(addprefix github.com/,klauspost/compress/fse klauspost/compress/huff0 pierrec/lz4/... zeebo/xxh3) \
	$(addprefix $(shell $(GO) list -m)/,analyze/render/... analyze/stats analyze/visual capture/frame capture/synth codec/rowdelta)
RACING = -race $(patsubst %,-gcflags=%=-race=false,$(UNRACED)) -short
race:
	$(GOTEST) $(RACING) $(ALONE) -p 2 -timeout 30m $$($(RACE))
	$(GO) test $(RACING) -vet=off -run '^Test(Shares|Stops|Large|AllVariants|HeatmapLiteral|CheckerboardLiteral|TearingLiteral|StripLiteral|ProgramsOfSite|StreamArrives|StreamEnds|Wrap|Program$$)' \
		./analyze ./analyze/{checkerboard,codestrip,heatmap,load,tearing} ./netsim/instrument ./netsim/instrument/node

# A random search for inputs that fail: make fuzz TIME=1m. A finding becomes a seed, and make test tries all seeds.
# .ci/run does not search: a finding depends on chance, not on the change.
TIME ?= 10s
fuzz:
	@.ci/fuzz $(TIME) ./...

# Sites of one program by ten build tools, in out/archives. The tools take 250 MB.
archives: deps $(ARCHIVES)/node_modules/.package-lock.json
	node $(ARCHIVES)/build.mjs $(CURDIR)/out/archives

# Hours, by hand: packages with a longer form of a test, for which EIDETICKER_SOAK is set, and each fuzz target for five minutes.
soak: webui archives
	$(SUITES)/sources out/suites
	EIDETICKER_SOAK=1 $(GO) test -count=1 -p 1 -v -timeout 12h $$(git grep -lE 'EIDETICKER_SOAK|analyzetest.Seeds' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|')
	@.ci/fuzz 5m ./...

# What this machine can do and our share of it, how fast recordings are analysed, and how exact the test network is; then
# every other benchmark.
bench: build
	$(BENCH) '^Benchmark(Read|Analyze)$$' ./cmd/eideticker
	$(BENCH) Exact ./netsim/link
	@if [ $$(id -u) = 0 ]; then echo "a page of 50 resources over 3g:"; dir=$$(mktemp -d) && $(BIN) run gallery --network 3g --repeat 20 --no-video -o $$dir/gallery; code=$$?; rm -rf "$$dir"; exit $$code; \
	else echo "a page of 50 resources over 3g is loaded by root only"; fi
	$(GO) test -run '^$$' -bench . -skip '^Benchmark(Exact|BesideIstanbul)$$' -benchtime 1s $$($(GO) list ./... | grep -v /cmd/eideticker$$)

BENCH = $(GO) test -run '^$$' -benchtime 1x -timeout 2h -bench

# Beside ffmpeg's encoders and LZ4: minutes and 5 GB.
bench-peers: deps
	$(BENCH) '^BenchmarkPeers$$' ./cmd/eideticker
	$(BENCH) '^BenchmarkPhases$$' ./codec/recording

# Scenes in real time: ten minutes and 60 GB.
bench-paced: deps
	$(BENCH) '^BenchmarkPaced$$' ./cmd/eideticker

bench-read: deps
	$(BENCH) '^BenchmarkRead$$' ./cmd/eideticker

bench-analyze: deps
	$(BENCH) '^BenchmarkAnalyze$$' ./cmd/eideticker ./codec/recording

# The rewriter of scripts and its inserted code, beside istanbul, swc and V8: four minutes.
bench-scripts: webui $(ANCHORS)/node_modules/.package-lock.json
	$(BENCH) 'BesideIstanbul|Gates' ./netsim/instrument

# Profiles of programs and of Chromium, beside perf, uftrace, valgrind and strace: ten minutes.
bench-profile: deps
	$(BENCH) '^BenchmarkProfile$$' ./controller/profile

# Readers of traces and their index, beside Python, protoc and uftrace; bounds of simulated clocks. It takes five minutes.
bench-attach: deps
	$(BENCH) '^BenchmarkAttach$$' ./analyze/activity
	$(GO) test -count=1 -v -run '^TestSimulatedClocks$$' ./analyze/activity/clock

# What the capture thread costs a frame, beside other programs on the same device of a VM, as far as they are installed. It takes
# some five minutes.
bench-rig: deps
	$(GO) test -count=1 -v -timeout 1h -tags benchrig -run '^TestBenchRig$$' ./capture/v4l2

# A million rigs in a thousand cells, one after the other, and decisions beside 100,000 waiting jobs: some 15 minutes.
bench-fleet:
	EIDETICKER_SOAK=1 $(GO) test -count=1 -v -timeout 6h -run '^TestSimulation$$' -bench '^BenchmarkAssign$$' ./deploy/fleet/sched
	$(GO) test -count=1 -v -timeout 2h -run '^$$' -bench '^BenchmarkHub$$' -benchtime 1x ./deploy/fleet/hub

clean:
	rm -rf bin out
