package sys

// emptiness is whether a tree is known to be empty, and by what.
type emptiness struct {
	empty chan struct{}
	proof Proof // valid once empty is closed
}

func newEmptiness() emptiness { return emptiness{empty: make(chan struct{})} }

// prove tells, once, that the tree is empty.
func (e *emptiness) prove(by Proof) {
	e.proof = by
	close(e.empty)
}

// Empty is closed when the tree was proved empty.
func (e *emptiness) Empty() <-chan struct{} { return e.empty }

// Proof is valid once Empty is closed.
func (e *emptiness) Proof() Proof {
	select {
	case <-e.empty:
		return e.proof
	default:
		return ProofNone
	}
}
