# The two commands: make demo, make test. Both set up what is missing first.

GO   ?= go
BIN  := bin/eideticker
PURE  := ./ringbuf/... ./codec/... ./capture/... ./analyze/... ./netsim/... ./controller/... ./deploy/...
WEBUI := cmd/eideticker/internal/webui
CHART := $(WEBUI)/page/vendor/uPlot.esm.js
BUSY  := $(addprefix ./cmd/eideticker/internal/,rig/... session/... store/... daemon/... api/... staging/...)
RIG   = $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | sed -n 's/ .*deploy\/rigvm.*//p') ./deploy/rigvm

.PHONY: deps webui screenshots build demo package test test-rig lint cross race fuzz soak bench bench-peers bench-rig clean

deps:
	@.ci/deps

# What the web page has from npm, in the versions of the lock file: its chart library, and for tests its type checker.
webui: deps $(CHART)

$(CHART): $(WEBUI)/package-lock.json
	npm --prefix $(WEBUI) ci --ignore-scripts --no-audit --no-fund
	cp $(WEBUI)/node_modules/uplot/dist/uPlot.esm.js $(WEBUI)/node_modules/uplot/dist/uPlot.min.css $(WEBUI)/node_modules/uplot/LICENSE $(dir $(CHART))

# Pictures of every page, light and dark, wide and narrow, and of a real run, in out/screenshots; README shows two of them, with fewer colours.
screenshots: webui
	mkdir -p out/screenshots
	EIDETICKER_PICTURES=$(CURDIR)/out/screenshots $(GO) test -count=1 -timeout 30m -run '^(TestAllPages|TestRealRig)$$' ./$(WEBUI)
	mkdir -p $(WEBUI)/screenshots
	for page in run compare; do \
		ffmpeg -v error -y -i out/screenshots/real-$$page.png -vf 'split[a][b];[a]palettegen=64[c];[b][c]paletteuse=dither=none' $(WEBUI)/screenshots/$$page.png || exit 1; \
	done

build: deps webui
	$(GO) build -o $(BIN) ./cmd/eideticker

demo: build
	$(BIN) demo $(ARGS)

# The Debian package of a box, in out/.
package: deps webui
	$(GO) build -buildvcs=true -trimpath -ldflags="-s -w" -o out/package/eideticker ./cmd/eideticker
	$(GO) run ./deploy/deb -o out out/package/eideticker

# Packages whose tests run in a VM may take longer than the go command's own limit of ten minutes.
test: deps webui lint cross
	$(GO) test -timeout 45m ./...
	@$(MAKE) --no-print-directory race fuzz

# The tests that boot a VM with real kernel drivers, alone and with a table of what ran in it. They are called TestVM….
test-rig: deps
	$(GO) test -count=1 -p 1 -v -timeout 30m -run '^TestVM' $(RIG)

lint:
	@out=$$(gofmt -l .); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet -tags rigvm ./...
	CGO_ENABLED=0 $(GO) vet -tags benchrig ./capture/v4l2
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags rigvm $(RIG)

# The offline commands work wherever Go does, without cgo.
cross:
	@for target in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do \
		echo "build $$target without cgo"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -o /dev/null ./cmd/eideticker || exit 1; \
	done
	@for target in linux/arm64=hid linux/amd64=hid windows/amd64=windows windows/arm64=windows; do \
		echo "build $$target agent"; \
		platform=$${target%=*}; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build -o /dev/null ./controller/input/$${target#*=}/agent || exit 1; \
	done

# The two packages that call OpenCV take no part: what they do is C++, which the detector does not see. With -short, tests look at a tenth of their random cases
# and start no browsers, which the detector does not see either.
race:
	$(GO) test -race -short -timeout 30m $$($(GO) list $(PURE) $(BUSY) | grep -v -e /capture/video$$ -e /analyze/render$$)

fuzz:
	@.ci/fuzz 5s ./...

# A hundred runs in a row with a real browser leave no process, file, X client, folder, descriptor or goroutine. The tests have half as many. And half an hour of recordings with 200
# clients looking on, of which the tests have 20 seconds.
soak: deps
	EIDETICKER_SOAK=100 $(GO) test -count=1 -v -timeout 30m -run '^TestSoak$$' ./cmd/eideticker/internal/session
	EIDETICKER_CROWD=30 $(GO) test -count=1 -v -timeout 60m -run '^TestCrowd$$' ./cmd/eideticker/internal/api

# What this box can do and our share of it, how fast recordings are analysed, and how exact the test network is; then every benchmark of the code.
bench: build
	$(BIN) bench
	$(BIN) bench --analyze
	$(BIN) netsim certify --exact
	@if [ $$(id -u) = 0 ]; then echo "a page of 50 resources over 3g:"; dir=$$(mktemp -d) && $(BIN) run gallery --network 3g --repeat 20 --no-video -o $$dir/gallery; code=$$?; rm -rf "$$dir"; exit $$code; \
	else echo "a page of 50 resources over 3g is loaded by root only"; fi
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...

bench-peers: build
	$(BIN) bench --peers

# What the capture thread costs a frame, beside other programs on the same device of a VM, as far as they are installed. It takes
# some five minutes.
bench-rig: deps
	$(GO) test -count=1 -v -timeout 1h -tags benchrig -run '^TestBenchRig$$' ./capture/v4l2

clean:
	rm -rf bin out
