// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Facts are the input of Check.
type Facts struct {
	Now         time.Time
	CRDs        []CRD
	Controllers []Controller
	Leases      []Lease
	// Notifications is the namespace of notification-controller; empty if it is not installed.
	Notifications string
	Releases      []helmv2.HelmRelease
	Rights        []Rights
	// Unread lists what could not be read.
	Unread []Unread
}

// Resources in Facts.Unread.
const (
	ResourceCRDs        = "CustomResourceDefinitions"
	ResourceDeployments = "Deployments"
	ResourceLeases      = "Leases"
	ResourceReleases    = "HelmReleases"
	ResourceRights      = "rights of ServiceAccounts"
	ResourceAccounts    = "ServiceAccounts"
)

// unread reports whether a resource could not be read.
func (f Facts) unread(resource string) bool {
	for _, u := range f.Unread {
		if u.Resource == resource {
			return true
		}
	}
	return false
}

// Unread is a resource that could not be read.
type Unread struct {
	// Resource is what was to be read, such as "Deployments".
	Resource string
	Error    string
}

// CRD is a CustomResourceDefinition. Found is false if it does not exist.
type CRD struct {
	Name  string
	Found bool
	// Served and Declared are versions in the spec, and Stored are those in the status.
	Served, Declared, Stored []string
	// NoTemplateKind is true for a CRD of HelmRelease that has spec.chart, and not spec.chart.kind.
	NoTemplateKind bool
	// NoFileValues is true for a CRD of HelmRelease whose spec.valuesFrom takes only ConfigMaps and
	// Secrets.
	NoFileValues bool
}

// Controller is a Deployment that looks like a controller of HelmReleases.
type Controller struct {
	Namespace, Name, Image string
	Replicas, Ready        int32
	ServiceAccount         string
	// Refused is the error of its arguments as Pintle parses them. If Parsed is false, the values of
	// flags are not known.
	Refused string
	Parsed  bool
	// The values of its flags.
	Selector, DefaultServiceAccount, EventsAddr string
	AllNamespaces, LeaderElection               bool
}

// Lease is a Lease of leader election.
type Lease struct {
	Namespace, Name, Holder string
	Renewed                 time.Time
	Duration                time.Duration
}

// isHeld reports whether a process renews the Lease.
func (l Lease) isHeld(now time.Time) bool {
	return l.Holder != "" && now.Sub(l.Renewed) <= l.Duration+leaseSlack
}

// leaseSlack is the difference that the clocks of the controller and of the user may have.
const leaseSlack = 30 * time.Second

// Rights are the rights of one identity that releases act as.
type Rights struct {
	Namespace, ServiceAccount string
	// Missing is true if the ServiceAccount does not exist.
	Missing bool
	// Denied are requests that are not allowed, such as "list secrets in apps".
	Denied []string
	// Namespaces are those in which rights are missing, or if the ServiceAccount does not exist, those
	// in which its releases need rights. Cluster is true if rights to cluster-scoped objects are
	// missing.
	Namespaces []string
	Cluster    bool
	// Releases are the names of HelmReleases.
	Releases []string
}
