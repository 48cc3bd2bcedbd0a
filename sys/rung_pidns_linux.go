package sys

import (
	"context"
	"errors"

	"github.com/belfry-dev/belfry/linux"
)

// inNamespace is a tree in a pid namespace of its own, which the kernel ends
// with its first process, whoever else was killed.
var inNamespace = holding{
	strict: true,
	guarantee: Guarantee{Mechanism: PIDNamespace, Kill: ScopeTree, LeaderExit: ScopeTree,
		SupervisorDeath: ScopeTree, HelperDeath: ScopeTree},
	lost: Guarantee{Mechanism: PIDNamespace, Kill: ScopeTree, LeaderExit: ScopeTree,
		SupervisorDeath: ScopeTree, HelperDeath: ScopeTree},
	proof: ProofNamespaceGone,
}

// startStrict starts the program in a pid namespace of its own.
func (h *linuxHost) startStrict(ctx context.Context, sp *Spec) (Tree, error) {
	return h.startStrictIn(ctx, sp, nil)
}

// startStrictIn does so in a control group, unless that is nil.
func (h *linuxHost) startStrictIn(ctx context.Context, sp *Spec, in *linux.Cgroup) (Tree, error) {
	defer h.shims.prepareSoon()
	t, err := h.startHeld(ctx, sp, &inNamespace, in)
	if re, ours := errors.AsType[*rungError](err); ours && !re.passing {
		re.remedy = heldRemedy(&inNamespace, re)
	}
	return t, err
}

// heldRemedy tells what would make a rung of the shim usable.
func heldRemedy(held *holding, err error) string {
	re, ours := errors.AsType[*rungError](err)
	switch {
	case errors.Is(err, errInitNotCalled):
		return "call sys.Init at the start of main"
	case ours && re.passing:
		return re.remedy
	case held.strict:
		return "permit user namespaces: sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0, whichever of them exist, or run as root outside a container"
	case ours:
		return re.remedy
	}
	return "start belfry outside the sandbox that forbids it"
}
