// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	coreVersion = "v1"
	rbacVersion = "rbac.authorization.k8s.io/v1"

	kindServiceAccount     = "ServiceAccount"
	kindConfigMap          = "ConfigMap"
	kindSecret             = "Secret"
	kindClaim              = "PersistentVolumeClaim"
	kindRole               = "Role"
	kindRoleBinding        = "RoleBinding"
	kindClusterRoleBinding = "ClusterRoleBinding"
)

// companion is a hook that is neither Job nor Pod, which other hooks of its events may use.
type companion struct {
	hook   Hook
	object map[string]any
	ref    Reference
}

// closure collects needs without duplicates.
type closure struct {
	in         Input
	companions []companion
	needs      []Need
	seen       map[Reference]bool
	// optional is true if references that may be missing count, too.
	optional bool
}

// needsOf returns the objects that steps need: those that their pods refer to, and hooks of the
// same events that give rights to their ServiceAccounts. For an event all its hooks are needed.
func needsOf(in Input, chosen []Hook, steps []Step) []Need {
	c := &closure{in: in, companions: companionsOf(in, chosen)}
	for _, s := range steps {
		var spec batchv1.JobSpec
		// makeStep has decoded it before.
		if read(s.Job.Object["spec"], &spec) == nil {
			c.pod(spec.Template.Spec)
		}
	}
	if in.Parameters.Event != "" {
		for _, o := range c.companions {
			c.add(o.ref)
		}
	}
	// Clones of hooks are created in the order of Helm. Other objects exist already.
	slices.SortStableFunc(c.needs, func(a, b Need) int { return cmp.Compare(a.weight, b.weight) })
	return c.needs
}

// companionsOf returns the companions that share an event with a chosen hook.
func companionsOf(in Input, chosen []Hook) []companion {
	var events []string
	for _, h := range chosen {
		events = append(events, h.Events...)
	}
	if e := in.Parameters.Event; e != "" {
		events = []string{string(e)}
	}
	var all []companion
	for _, h := range in.Release.Hooks {
		shared := slices.ContainsFunc(h.Events, func(e string) bool { return slices.Contains(events, e) })
		if runs(h) || !shared {
			continue
		}
		object, err := parse(h.Manifest)
		if err != nil {
			continue
		}
		version, _ := object["apiVersion"].(string)
		all = append(all, companion{hook: h, object: object, ref: Reference{APIVersion: version, Kind: h.Kind, Name: h.Name}})
	}
	slices.SortStableFunc(all, func(a, b companion) int { return byWeight(a.hook, b.hook) })
	return all
}

// add adds a need and its own needs.
func (c *closure) add(ref Reference) {
	if ref.Name == "" || c.seen[ref] {
		return
	}
	if c.seen == nil {
		c.seen = map[Reference]bool{}
	}
	c.seen[ref] = true
	n := Need{Reference: ref}
	i := slices.IndexFunc(c.companions, func(o companion) bool { return o.ref == ref })
	if i >= 0 {
		n.weight, n.Clone = c.companions[i].hook.Weight, c.clone(c.companions[i])
	}
	c.needs = append(c.needs, n)
	if ref.Kind == kindServiceAccount {
		c.bindings(ref.Name)
	}
	if i >= 0 && ref.Kind == kindRole {
		c.resources(c.companions[i].object)
	}
}

// clone returns a companion as an object of the Operation; nil if its kind is not cloned or it is
// in another namespace. It keeps its name, which scripts, role bindings and clouds refer to.
func (c *closure) clone(o companion) *unstructured.Unstructured {
	switch o.ref {
	case core(kindServiceAccount, o.ref.Name), core(kindConfigMap, o.ref.Name), core(kindSecret, o.ref.Name),
		rbac(kindRole, o.ref.Name), rbac(kindRoleBinding, o.ref.Name):
	default:
		return nil
	}
	meta := section(o.object, "metadata")
	if ns, ok := meta["namespace"]; ok && ns != c.in.Release.Namespace && ns != "" && ns != nil {
		return nil
	}
	clone := map[string]any{}
	for key, value := range o.object {
		if key != "status" {
			clone[key] = value
		}
	}
	clone["metadata"] = metadata(c.in, o.hook, meta, o.ref.Name)
	return &unstructured.Unstructured{Object: clone}
}

// bindings adds the companions that give rights to a ServiceAccount. Bindings that are not hooks
// exist with the release.
func (c *closure) bindings(account string) {
	for _, o := range c.companions {
		if o.ref != rbac(kindRoleBinding, o.ref.Name) && o.ref != rbac(kindClusterRoleBinding, o.ref.Name) {
			continue
		}
		// A ClusterRoleBinding has the same fields.
		var binding rbacv1.RoleBinding
		if err := read(o.object, &binding); err != nil {
			continue
		}
		for _, s := range binding.Subjects {
			if s.Kind != kindServiceAccount || s.Name != account || (s.Namespace != "" && s.Namespace != c.in.Release.Namespace) {
				continue
			}
			// A role that is not a hook belongs to the cluster or the release.
			if role := rbac(binding.RoleRef.Kind, binding.RoleRef.Name); c.isCompanion(role) {
				c.add(role)
			}
			c.add(o.ref)
			break
		}
	}
}

// resources adds the ConfigMaps and Secrets among the companions that a role names, which its
// subjects read through the API.
func (c *closure) resources(object map[string]any) {
	var role rbacv1.Role
	if err := read(object, &role); err != nil {
		return
	}
	for _, rule := range role.Rules {
		for _, name := range rule.ResourceNames {
			if ref := core(kindConfigMap, name); slices.Contains(rule.Resources, "configmaps") && c.isCompanion(ref) {
				c.add(ref)
			}
			if ref := core(kindSecret, name); slices.Contains(rule.Resources, "secrets") && c.isCompanion(ref) {
				c.add(ref)
			}
		}
	}
}

func (c *closure) isCompanion(ref Reference) bool {
	return slices.ContainsFunc(c.companions, func(o companion) bool { return o.ref == ref })
}

// pod adds the objects without which a pod does not start. Optional ones are not added.
func (c *closure) pod(spec corev1.PodSpec) {
	c.add(core(kindServiceAccount, cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount)))
	for _, s := range spec.ImagePullSecrets {
		c.add(core(kindSecret, s.Name))
	}
	for _, v := range spec.Volumes {
		c.volume(v.VolumeSource)
	}
	for _, all := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, container := range all {
			c.container(container)
		}
	}
}

func (c *closure) container(container corev1.Container) {
	for _, from := range container.EnvFrom {
		if r := from.ConfigMapRef; r != nil {
			c.require(kindConfigMap, r.Name, r.Optional)
		}
		if r := from.SecretRef; r != nil {
			c.require(kindSecret, r.Name, r.Optional)
		}
	}
	for _, env := range container.Env {
		if env.ValueFrom == nil {
			continue
		}
		if r := env.ValueFrom.ConfigMapKeyRef; r != nil {
			c.require(kindConfigMap, r.Name, r.Optional)
		}
		if r := env.ValueFrom.SecretKeyRef; r != nil {
			c.require(kindSecret, r.Name, r.Optional)
		}
	}
}

func (c *closure) volume(v corev1.VolumeSource) {
	if v.ConfigMap != nil {
		c.require(kindConfigMap, v.ConfigMap.Name, v.ConfigMap.Optional)
	}
	if v.Secret != nil {
		c.require(kindSecret, v.Secret.SecretName, v.Secret.Optional)
	}
	if v.PersistentVolumeClaim != nil {
		c.require(kindClaim, v.PersistentVolumeClaim.ClaimName, nil)
	}
	if v.CSI != nil && v.CSI.NodePublishSecretRef != nil {
		c.require(kindSecret, v.CSI.NodePublishSecretRef.Name, nil)
	}
	if v.AzureFile != nil {
		c.require(kindSecret, v.AzureFile.SecretName, nil)
	}
	if v.FlexVolume != nil && v.FlexVolume.SecretRef != nil {
		c.require(kindSecret, v.FlexVolume.SecretRef.Name, nil)
	}
	if v.Projected == nil {
		return
	}
	for _, source := range v.Projected.Sources {
		if r := source.ConfigMap; r != nil {
			c.require(kindConfigMap, r.Name, r.Optional)
		}
		if r := source.Secret; r != nil {
			c.require(kindSecret, r.Name, r.Optional)
		}
	}
}

func (c *closure) require(kind, name string, optional *bool) {
	if c.optional || optional == nil || !*optional {
		c.add(core(kind, name))
	}
}

func core(kind, name string) Reference { return Reference{coreVersion, kind, name} }

func rbac(kind, name string) Reference { return Reference{rbacVersion, kind, name} }
