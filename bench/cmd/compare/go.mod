module github.com/belfry-dev/belfry/bench/cmd/compare

go 1.26.0

require (
	code.cloudfoundry.org/go-diodes v0.0.0-20231113191959-85adc333ee36
	github.com/belfry-dev/belfry v0.0.0-00010101000000-000000000000
	github.com/smallnest/ringbuffer v0.2.1
)

require golang.org/x/net v0.59.0 // indirect

replace github.com/belfry-dev/belfry => ../../..
