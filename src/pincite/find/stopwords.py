"""Words that ask rather than say, which questions are searched without, and words that deny."""

_WORDS = {
    "en": "a about after all also am an and any are as at be because been before being between both but by can "
    "could did do does doing don't during each few for from further had has have having he her here hers "
    "him his how i if in into is it its just me more most my no nor not of off on once only or other our "
    "out over own same she should so some such than that the their them then there these they this those "
    "through to too under until up upon us very was we were what when where which while who whom why will "
    "with would you your",
    "de": "aber als am an auch auf aus bei bin bis bist da das dass dem den der des die dies diese dieser "
    "dieses doch du durch ein eine einem einen einer eines er es für hat hatte ich ihr im in ist ja kann "
    "mit nach nicht noch nur ob oder sich sie sind so um und uns unter vom von vor wann war waren warum "
    "was welche welchem welchen welcher welches wenn wer werden wie wir wird wo wurde wurden zu zum zur "
    "über",
    "fr": "a au aux avec ce ces cette comment dans de des du elle en est et eu il ils je la le les leur lui ma "
    "mais me mes mon même ne nous on ou où par pas pour pourquoi qu quand que quel quelle quelles quels "
    "qui sa se ses son sont sur ta te tes ton tu un une vos votre vous y à été être",
    "es": "a al como con cuando cuál cuáles cuándo cómo de del donde dónde e el ella en entre era es esta este "
    "está fue ha la las le lo los me mi muy más no o para pero por porque que quién quiénes qué se si sin "
    "sobre son su sus también un una uno y ya",
    "it": "a ai al alla alle anche c che chi come con cosa da dal dalla dei del della delle di dove e ed era fu "
    "gli i il in io la le lo ma nel nella non o per perché più qual quale quali quando se si sono su sul "
    "sulla un una uno è",
    "pt": "a ao aos as com como da das de do dos e ela em era essa esse esta este eu foi isso mais mas na nas "
    "no nos não o onde os ou para pela pelo por porque quais qual quando que quem se sem seu sua são "
    "também um uma à é",
    "nl": "aan als bij dat de den der deze die dit door een en er had heeft het hij hoe ik in is je kan maar "
    "met naar niet of om onder ook op over te tot uit van veel voor waar waarom wanneer was wat wel welke "
    "werd wie wij worden ze zich zijn zo",
    "sv": "att av de den det du där efter ej en er ett från för han har hon hur i inte jag kan med men när och "
    "om på samt sig som så till under vad var varför vem vi vid vilken vilket är över",
    "da": "af at blev de den der det efter en er et for fra han har hun hvad hvem hvor hvordan hvorfor i ikke "
    "jeg kan med men når og om på sig som så til var ved vi",
    "no": "at av ble de den der det en er et etter for fra han har hun hva hvem hvor hvordan hvorfor i ikke jeg "
    "kan med men når og om på seg som så til var ved vi",
    "tr": "bir bu da daha de en gibi hangi hangisi ile ise için kaç ki kim mi mu mü mı nasıl ne neden nedir "
    "nerede olan olarak ve veya çok",
    "ru": "а без бы был была были было быть в во вот все где да для до его ее если есть еще же за и из или им "
    "их к как какая какие каким каково какой какую ко когда который кто ли на не него но о об он она они "
    "оно от по почему при с сколько со так такое то у уже чем что чтобы эта эти это этот я",
    "el": "ένα ένας ή από αυτή αυτό για δεν είναι η θα και κατά με μια να ο οι ποια ποιο ποιος που πού πόσα πώς "
    "σε στη στην στο τα τη την της τι τις το τον του τους των ως όπως όταν",
    "ar": "أن أو أي أين إلى إن التي الذي الذين على عن عند في كان كانت كم كيف لا لم لماذا ما ماذا متى مع من منذ "
    "هذا هذه هل هو هي و",
    "hi": "और कब कहाँ कहां का कि कितना कितनी कितने किस किसका किसकी किसके किसने की के कैसे को कौन कौनसा क्या "
    "क्यों जो था थी थे ने पर में यह वह से है हैं हो",
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_DENYING = (
    "no not non nor never none neither without cannot nobody nothing nowhere lack lacks lacked lacking fail fails "
    "failed unable absent absence hardly rarely kein keine keinen nicht nie ohne pas jamais sans sin nunca não sem"
)
NEGATIONS = frozenset(_DENYING.split())
