// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// rights checks the identities that releases act as.
func rights(f Facts) []Finding {
	var all []Finding
	for _, r := range f.Rights {
		account := r.Namespace + "/" + r.ServiceAccount
		switch {
		case r.Missing:
			all = append(all, Finding{
				Level: Failed, Check: "Rights", Objects: r.Releases,
				What:    fmt.Sprintf("ServiceAccount %s does not exist, and %s as it", account, acts(len(r.Releases))),
				Meaning: "No action can start. Nothing is changed, and the releases stay installed.",
				Do:      fmt.Sprintf("kubectl create serviceaccount %s --namespace %s && %s", r.ServiceAccount, r.Namespace, bindings(r)),
			})
		case len(r.Denied) > 0:
			all = append(all, Finding{
				Level: Failed, Check: "Rights", Objects: r.Releases,
				What:    fmt.Sprintf("ServiceAccount %s may not %s; %s as it", account, list(r.Denied), acts(len(r.Releases))),
				Meaning: "Actions that need these rights fail with Forbidden. What is installed stays.",
				Do:      "Bind it a role with these rights, such as: " + bindings(r),
			})
		}
	}
	all = append(all, elsewhere(f)...)
	all = append(all, unnamed(f)...)
	if len(all) == 0 && len(f.Rights) > 0 && !f.unread(ResourceRights) {
		all = append(all, Finding{Level: OK, Check: "Rights", What: fmt.Sprintf("%s that releases act as: each has the rights to release records and to the kinds of its releases", count(len(f.Rights), "ServiceAccount"))})
	}
	return all
}

// elsewhere returns a finding about the releases whose identity in another cluster is set by a flag.
// Its rights cannot be checked from here.
func elsewhere(f Facts) []Finding {
	if !slices.ContainsFunc(f.Controllers, func(c Controller) bool { return c.DefaultServiceAccount != "" }) {
		return nil
	}
	var names []string
	for i := range f.Releases {
		if hr := &f.Releases[i]; hr.Spec.KubeConfig != nil && hr.Spec.ServiceAccountName == "" {
			names = append(names, nameOf(hr))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Finding{{
		Level: Warning, Check: "Rights", Objects: names,
		What:    fmt.Sprintf("%s in other clusters as the default ServiceAccount there", acts(len(names))),
		Meaning: "The user of the kubeconfig impersonates that ServiceAccount. Without the right, each action is forbidden.",
		Do:      "Set spec.serviceAccountName, or create the ServiceAccount there and let the user of the kubeconfig impersonate it.",
	}}
}

// unnamed returns a finding about the releases whose identity is set by a flag that is not known.
func unnamed(f Facts) []Finding {
	if !f.withoutDeployment() {
		return nil
	}
	checked := map[string]bool{}
	for _, r := range f.Rights {
		for _, name := range r.Releases {
			checked[name] = true
		}
	}
	var names []string
	for i := range f.Releases {
		if hr := &f.Releases[i]; hr.Spec.KubeConfig == nil && !checked[nameOf(hr)] {
			names = append(names, nameOf(hr))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Finding{{
		Level: Note, Check: "Rights", Objects: names,
		What:    fmt.Sprintf("the rights of %s without spec.serviceAccountName are not checked, because the flags of the controller are not known", count(len(names), "release")),
		Meaning: "They act as the ServiceAccount of its flag --default-service-account, or without that flag with the rights of the controller.",
		Do:      "If it has that flag, repeat the command with --default-service-account=NAME.",
	}}
}

func nameOf(hr *helmv2.HelmRelease) string { return hr.Namespace + "/" + hr.Name }

// bindings returns the commands that give an account rights in each namespace in which it needs them.
func bindings(r Rights) string {
	var commands []string
	for _, namespace := range r.Namespaces {
		// Accounts of several namespaces may have the same name. config/least-privilege/accounts.sh
		// uses the same names.
		name := r.ServiceAccount
		if namespace != r.Namespace {
			name += "-" + r.Namespace
		}
		commands = append(commands, fmt.Sprintf("kubectl create rolebinding %s --namespace %s --clusterrole=admin --serviceaccount=%s:%s", name, namespace, r.Namespace, r.ServiceAccount))
	}
	if r.Cluster {
		commands = append(commands, fmt.Sprintf("kubectl create clusterrolebinding %s-%s --clusterrole=ROLE --serviceaccount=%s:%s", r.ServiceAccount, r.Namespace, r.Namespace, r.ServiceAccount))
	}
	return strings.Join(commands, " && ")
}

func acts(n int) string {
	if n == 1 {
		return "1 release acts"
	}
	return fmt.Sprintf("%d releases act", n)
}
