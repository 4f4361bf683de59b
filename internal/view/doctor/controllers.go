// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// controllers checks that one controller reconciles each HelmRelease.
func controllers(f Facts) []Finding {
	running, held := f.running(), f.held()
	finding := Finding{Check: "Controllers", Objects: namesOf(running, held)}
	leases := countLeases(held)
	switch {
	case f.unread(ResourceLeases) && f.unread(ResourceDeployments):
		return nil
	case f.noController():
		finding.Level, finding.What = Failed, "no controller of HelmReleases runs"
		finding.Meaning = "No Deployment is called or labelled helm-controller, and no Lease of one is renewed."
		finding.Do = "kubectl apply --server-side -k config/default, or scale the Deployment up."
	case overlapping(running):
		finding.Level, finding.What = Failed, fmt.Sprintf("%s reconcile the same HelmReleases", deployments(running))
		finding.Meaning = "Each treats the actions of the other as those of another client: they upgrade and roll back in turns."
		finding.Do = "Scale one of them to 0, or separate them with --watch-label-selector (docs/flags.md, Shards)."
	case len(leases) > 0:
		finding.Level, finding.What = Failed, "two processes lead at once: "+strings.Join(leases, "; ")
		finding.Meaning = "Leases of one name in two namespaces are renewed, so two controllers act on the same HelmReleases."
		finding.Do = "Find the second controller by the holder of its Lease, and scale it to 0."
	case f.noLeader():
		finding.Level, finding.What = Warning, "no Lease of a controller is renewed"
		finding.Meaning = "No replica is the leader, so no release is reconciled. A start takes up to 35 seconds."
		finding.Do = fmt.Sprintf("kubectl logs --namespace %s deployment/%s", running[0].Namespace, running[0].Name)
	default:
		finding.Level, finding.What = OK, oneController(running, held)
	}
	return []Finding{finding}
}

// Leads reports whether a controller reconciles HelmReleases. It is true if that is not known.
func (f Facts) Leads() bool {
	return f.unread(ResourceLeases) || f.unread(ResourceDeployments) || !f.noController() && !f.noLeader()
}

// running returns the controllers that are not scaled to 0.
func (f Facts) running() []Controller {
	return slices.DeleteFunc(slices.Clone(f.Controllers), func(c Controller) bool { return c.Replicas == 0 })
}

// held returns the Leases that processes renew.
func (f Facts) held() []Lease {
	return slices.DeleteFunc(slices.Clone(f.Leases), func(l Lease) bool { return !l.isHeld(f.Now) })
}

func (f Facts) noController() bool { return len(f.running()) == 0 && len(f.held()) == 0 }

func (f Facts) noLeader() bool {
	return len(f.held()) == 0 && !f.unread(ResourceLeases) && elects(f.running())
}

func oneController(running []Controller, held []Lease) string {
	if len(running) == 1 {
		c := running[0]
		return fmt.Sprintf("one controller runs: Deployment %s/%s, image %s, %d of %d ready", c.Namespace, c.Name, c.Image, c.Ready, c.Replicas)
	}
	if len(running) == 0 {
		return "one controller runs: it renews Lease " + held[0].Namespace + "/" + held[0].Name
	}
	return deployments(running) + " run, each for labels of its own"
}

// overlapping reports whether two Deployments select the same HelmReleases. Selectors that differ
// count as separate. A Deployment whose flags are not known counts as one for all namespaces.
func overlapping(running []Controller) bool {
	all := func(c Controller) bool { return c.AllNamespaces || !c.Parsed }
	for i, a := range running {
		for _, b := range running[:i] {
			if a.Selector == b.Selector && (all(a) || all(b) || a.Namespace == b.Namespace) {
				return true
			}
		}
	}
	return false
}

// countLeases returns the names of Leases that are held in several namespaces.
func countLeases(held []Lease) []string {
	byName := map[string][]string{}
	for _, l := range held {
		byName[l.Name] = append(byName[l.Name], l.Namespace+" by "+l.Holder)
	}
	var all []string
	for name, holders := range byName {
		if len(holders) > 1 {
			slices.Sort(holders)
			all = append(all, "Lease "+name+" in "+list(holders))
		}
	}
	slices.Sort(all)
	return all
}

// withoutDeployment reports whether a controller runs that has no Deployment, so that its flags are
// not known.
func (f Facts) withoutDeployment() bool {
	return len(f.Controllers) == 0 && len(f.held()) > 0 && !f.unread(ResourceDeployments)
}

func elects(running []Controller) bool {
	return slices.ContainsFunc(running, func(c Controller) bool { return c.LeaderElection })
}

func deployments(all []Controller) string {
	var names []string
	for _, c := range all {
		names = append(names, "Deployment "+c.Namespace+"/"+c.Name)
	}
	return list(names)
}

func namesOf(running []Controller, held []Lease) []string {
	var all []string
	for _, c := range running {
		all = append(all, fmt.Sprintf("Deployment %s/%s (%s)", c.Namespace, c.Name, c.Image))
	}
	for _, l := range held {
		all = append(all, fmt.Sprintf("Lease %s/%s (held by %s)", l.Namespace, l.Name, l.Holder))
	}
	return all
}

// flags checks the arguments of the controllers.
func flags(f Facts) []Finding {
	if f.withoutDeployment() {
		return []Finding{{
			Level: Note, Check: "Flags", What: "the flags of the controller are not checked, because no Deployment of it was found",
			Meaning: "It runs outside of the cluster, as with make run, or its Deployment is neither called nor labelled helm-controller or pintle.",
			Do:      "Compare its flags with docs/flags.md.",
		}}
	}
	var all []Finding
	for _, c := range f.Controllers {
		name := []string{"Deployment " + c.Namespace + "/" + c.Name}
		if c.Refused != "" {
			all = append(all, Finding{
				Level: Failed, Check: "Flags", Objects: name,
				What:    fmt.Sprintf("Deployment %s/%s has arguments that Pintle does not accept: %s", c.Namespace, c.Name, c.Refused),
				Meaning: "With the image of Pintle, it would exit at its start with this message.",
				Do:      "Remove or correct the argument, see docs/flags.md.",
			})
		}
		if c.Parsed && c.EventsAddr == "" && f.Notifications != "" && c.Replicas > 0 {
			all = append(all, Finding{
				Level: Warning, Check: "Flags", Objects: name,
				What:    fmt.Sprintf("Deployment %s/%s does not set --events-addr, and notification-controller is installed", c.Namespace, c.Name),
				Meaning: "Alerts of Flux about HelmReleases get no events.",
				Do:      fmt.Sprintf("Add --events-addr=http://notification-controller.%s.svc.cluster.local./", f.Notifications),
			})
		}
	}
	if len(all) == 0 && len(f.Controllers) > 0 {
		all = append(all, Finding{Level: OK, Check: "Flags", What: "Pintle accepts all arguments of " + deployments(f.Controllers)})
	}
	return all
}
