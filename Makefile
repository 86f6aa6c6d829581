# The two commands: make demo, make test. Both set up what is missing first.

GO   ?= go
BIN  := bin/eideticker
PURE := ./ringbuf/... ./codec/... ./capture/... ./analyze/... ./netsim/... ./controller/... ./deploy/...
RIG   = $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | sed -n 's/ .*deploy\/rigvm.*//p') ./deploy/rigvm

.PHONY: deps build demo test test-rig lint cross race fuzz bench bench-peers bench-rig clean

deps:
	@.ci/deps

build: deps
	$(GO) build -o $(BIN) ./cmd/eideticker

demo: build
	$(BIN) demo

# Packages whose tests run in a VM may take longer than the go command's own limit of ten minutes.
test: deps lint cross
	$(GO) test -timeout 30m ./...
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
	$(GO) test -race -short -timeout 30m $$($(GO) list $(PURE) ./cmd/eideticker/internal/rig | grep -v -e /capture/video$$ -e /analyze/render$$)

fuzz:
	@.ci/fuzz 5s $(PURE)

# What this box can do and our share of it, and how fast recordings are analysed; then every benchmark of the code.
bench: build
	$(BIN) bench
	$(BIN) bench --analyze
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...

bench-peers: build
	$(BIN) bench --peers

# What the capture thread costs a frame, beside other programs on the same device of a VM, as far as they are installed. It takes
# some five minutes.
bench-rig: deps
	$(GO) test -count=1 -v -timeout 1h -tags benchrig -run '^TestBenchRig$$' ./capture/v4l2

clean:
	rm -rf bin out
