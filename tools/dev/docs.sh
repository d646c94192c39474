# shellcheck shell=bash
# ./dev docs: the reference of the public headers, made by doxygen. A warning is an error: a header
# that doxygen does not understand, or one that names what is not there.

# make_docs DIRECTORY: into DIRECTORY/html.
make_docs() {
  mkdir -p "$1" || return
  # Standard input has what differs from doxygen's defaults.
  doxygen - <<END || return
PROJECT_NAME          = Muster
PROJECT_BRIEF         = "Reference of the library"
OUTPUT_DIRECTORY      = "$1"
INPUT                 = include/muster
RECURSIVE             = YES
STRIP_FROM_PATH       = include
STRIP_FROM_INC_PATH   = include
JAVADOC_AUTOBRIEF     = YES
EXTRACT_ALL           = YES
HIDE_FRIEND_COMPOUNDS = YES
SORT_MEMBER_DOCS      = NO
MACRO_EXPANSION       = YES
EXPAND_ONLY_PREDEF    = YES
PREDEFINED            = __cplusplus=202002L MUSTER_EXPORT= \
                        "MUSTER_BEGIN_NAMESPACE=namespace muster {" "MUSTER_END_NAMESPACE=}"
EXCLUDE_SYMBOLS       = muster::api*
GENERATE_LATEX        = NO
HAVE_DOT              = NO
QUIET                 = YES
WARN_AS_ERROR         = FAIL_ON_WARNINGS
END
  say "    $1/html/index.html"
}
