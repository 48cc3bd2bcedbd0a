package hostwake

import (
	"context"
	"fmt"
)

// Result says in one word how an attempt ended.
type Result string

const (
	// Delivered: the host took the text.
	Delivered Result = "delivered"
	// Refused: the host is there and did not take it.
	Refused Result = "refused"
	// Unavailable: no host answers at this door.
	Unavailable Result = "unavailable"
	// Threw: the attempt broke off on our side; the host may or may not have
	// the text.
	Threw Result = "threw"
)

// Outcome is how one attempt ended.
type Outcome struct {
	Result Result
	// Detail is one line for a person. It holds no secret.
	Detail string
	// Permanent says that another attempt of this process cannot end better.
	// It is set only on what was Refused or Unavailable.
	Permanent bool
}

// Transport is one door to a host.
type Transport interface {
	// Name is the transport's name in records.
	Name() string
	// Wake hands payload over and waits until it is known how that ended. It
	// takes a second or two for a host that answers, longer for one that does
	// not or is at work on an earlier wake; when ctx ends before, the Outcome is
	// Threw. It is safe for concurrent use.
	Wake(ctx context.Context, payload string) Outcome
}

func unavailable(format string, args ...any) Outcome {
	return Outcome{Result: Unavailable, Detail: fmt.Sprintf(format, args...)}
}

func refused(format string, args ...any) Outcome {
	return Outcome{Result: Refused, Detail: fmt.Sprintf(format, args...)}
}

func threw(err error) Outcome {
	return Outcome{Result: Threw, Detail: err.Error()}
}

func (o Outcome) forGood() Outcome {
	o.Permanent = true
	return o
}
