#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the ServiceAccounts and RoleBindings that HelmReleases without spec.serviceAccountName need
# with --default-service-account. It only reads HelmReleases and names of namespaces. Review the
# YAML and commit it: nothing is applied.
#
# usage: accounts.sh [OPTION]...
#   --list                      print a table of the HelmReleases concerned, and no YAML
#   --namespace NAMESPACE       only HelmReleases in this namespace; can be repeated
#   --account NAME              the value of --default-service-account; helm-release
#   --cluster-role ROLE         the ClusterRole of the RoleBindings; admin
#   --cluster-role NAMESPACE=ROLE
#                               another one for the releases in a namespace; can be repeated
#   --remote NAMESPACE/KIND/NAME
#                               print the YAML for another cluster: the one that releases in a
#                               namespace reach by a kubeconfig, such as apps/Secret/staging
#
# docs/operating.md, "From helm-controller to least privilege", has the steps.
set -eu

account=helm-release role=admin roles= remote= list= namespaces=
usage() {
	echo "usage: accounts.sh [--list] [--namespace NAMESPACE]... [--account NAME] [--cluster-role [NAMESPACE=]ROLE]... [--remote NAMESPACE/KIND/NAME]" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--list) list=yes && shift && continue ;;
	--account | --cluster-role | --namespace | --remote) [ $# -ge 2 ] && [ -n "$2" ] || usage ;;
	*) usage ;;
	esac
	case $1 in
	--account) account=$2 ;;
	--remote) remote=$2 ;;
	--namespace) namespaces="$namespaces $2" ;;
	--cluster-role)
		case $2 in
		*=*) roles="$roles $2" ;;
		*) role=$2 ;;
		esac
		;;
	esac
	shift 2
done

# One line for each HelmRelease concerned: namespace, name, namespace of the objects, namespace of
# Helm's records, namespace to create or -, cluster or -.
releases=$(kubectl get helmreleases.helm.toolkit.fluxcd.io --all-namespaces --output=go-template='
{{- range .items }}
{{- $own := .metadata.namespace }}
{{- if not .spec.serviceAccountName }}
{{- $own }} {{ .metadata.name }} {{ or .spec.targetNamespace $own }} {{ or .spec.storageNamespace $own }}
{{- if and .spec.install .spec.install.createNamespace }} {{ or .spec.targetNamespace $own }}{{ else }} -{{ end }}
{{- with .spec.kubeConfig }}
{{- with .secretRef }} {{ $own }}/Secret/{{ .name }}{{ end }}
{{- with .configMapRef }} {{ $own }}/ConfigMap/{{ .name }}{{ end }}
{{- else }} -{{ end }}
{{ end }}
{{- end }}')
releases=$(printf '%s\n' "$releases" | awk -v namespaces="$namespaces" '
	BEGIN { n = split(namespaces, names, " "); for (i in names) selected[names[i]] = 1 }
	NF == 6 && (n == 0 || $1 in selected)' | sort)

if [ -n "$list" ]; then
	printf 'NAMESPACE NAME OBJECTS RECORDS CREATES CLUSTER\n%s\n' "$releases" |
		awk 'NF == 6 { printf "%-24s %-32s %-24s %-24s %-24s %s\n", $1, $2, $3, $4, $5, $6 }'
	exit
fi

existing=
if [ -z "$remote" ]; then
	existing=$(kubectl get namespaces --output=go-template='{{ range .items }}{{ .metadata.name }} {{ end }}')
fi

printf '%s\n' "$releases" | awk -v account="$account" -v role="$role" -v roles="$roles" -v remote="$remote" -v existing="$existing" '
function head(version, kind, name, namespace) {
	printf "---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", version, kind, name
	if (namespace != "") printf "  namespace: %s\n", namespace
}
# binding binds the account of namespace own to a role in namespace to.
function binding(to, own, kind, name, suffix) {
	head("rbac.authorization.k8s.io/v1", "RoleBinding", account suffix (to == own ? "" : "-" own), to)
	printf "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %s\n", kind, name
	printf "subjects:\n  - kind: ServiceAccount\n    name: %s\n    namespace: %s\n", account, own
}
function once(key) { return !(key in done) && (done[key] = 1) }
BEGIN {
	split(roles, pairs, " ")
	for (i in pairs) {
		at = index(pairs[i], "=")
		chosen[substr(pairs[i], 1, at - 1)] = substr(pairs[i], at + 1)
	}
	split(existing, names, " ")
	for (i in names) exists[names[i]] = 1
	if (remote != "") print "# For the cluster of " remote "."
}
NF == 6 {
	total++
	if ($6 != (remote == "" ? "-" : remote)) {
		if (remote == "") elsewhere[++others] = $0
		next
	}
	line[++count] = $0
	bound[$1 " " $3] = 1
}
END {
	for (i = 1; i <= count; i++) {
		split(line[i], f, " ")
		printf "# %s/%s acts as ServiceAccount %s/%s\n", f[1], f[2], f[1], account
		if (f[5] != "-") printf "#   and creates namespace %s if it does not exist, which needs a ClusterRole\n", f[5]
	}
	for (i = 1; i <= others; i++) {
		split(elsewhere[i], f, " ")
		printf "# %s/%s is in another cluster. For that one: accounts.sh --remote %s\n", f[1], f[2], f[6]
	}
	if (count == 0) print "# No HelmRelease needs an account here."
	for (i = 1; i <= count; i++) {
		split(line[i], f, " ")
		if (remote == "" && f[5] != "-" && !(f[5] in exists) && once("Namespace " f[5])) head("v1", "Namespace", f[5], "")
		if (remote == "" && once("ServiceAccount " f[1])) {
			head("v1", "ServiceAccount", account, f[1])
			print "automountServiceAccountToken: false"
		}
		if (once("objects " f[1] " " f[3])) binding(f[3], f[1], "ClusterRole", (f[3] in chosen) ? chosen[f[3]] : role, "")
		if (bound[f[1] " " f[4]]) continue
		# Only the records of Helm are in this namespace.
		if (once("Role " f[4])) {
			head("rbac.authorization.k8s.io/v1", "Role", account "-records", f[4])
			print "rules:\n  - apiGroups: [\"\"]\n    resources: [secrets]\n    verbs: [get, list, watch, create, update, patch, delete]"
		}
		if (once("records " f[1] " " f[4])) binding(f[4], f[1], "Role", account "-records", "-records")
	}
}'
